"""Serializers of conflicts, their sides, and the decisions about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.api.serializers import InProject, PageQuery
from memories.serializers.fields import CommaList
from playbook.conflicts import conflict_sides
from playbook.conflicts.conflict_sides import Side
from playbook.entries.text_limits import MAX_CONTENT, MAX_INTEGER, MAX_PART, MAX_REASON
from playbook.models import Conflict, PlaybookEntry
from playbook.serializers.deltas import QuoteOut


class SideQuote(QuoteOut):
    delta_id = serializers.UUIDField()


class SideOut(serializers.Serializer[Any]):
    """One of the two rules of a conflict.

    If the rule is a delta, `entry_id` is the entry that the delta would change, or
    null.
    """

    kind = serializers.ChoiceField(choices=["entry", "delta"])
    entry_id = serializers.UUIDField(allow_null=True)
    delta_id = serializers.UUIDField(allow_null=True)
    label = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # a field of that name
    content = serializers.CharField()
    condition = serializers.CharField()
    status = serializers.CharField()
    version = serializers.IntegerField()
    helpful = serializers.IntegerField()
    harmful = serializers.IntegerField()
    neutral = serializers.IntegerField()
    support_count = serializers.IntegerField()
    evidence = SideQuote(many=True)


class ConflictOut(serializers.ModelSerializer[Conflict]):
    """A conflict between two rules.

    `left` is the older rule. `right` is the newer rule.
    """

    project_id = serializers.UUIDField(read_only=True)
    left = serializers.SerializerMethodField()
    right = serializers.SerializerMethodField()
    decided_with = serializers.ListField(
        child=serializers.UUIDField(),
        read_only=True,
        help_text="The deltas of the decision; undoing one reopens the conflict.",
    )

    class Meta:
        model = Conflict
        fields = (
            "id",
            "project_id",
            "state",
            "reason",
            "left",
            "right",
            "created_at",
            "decided_by",
            "decided_at",
            "decided_with",
            "note",
        )
        read_only_fields = fields

    @extend_schema_field(SideOut)
    def get_left(self, conflict: Conflict) -> dict[str, Any]:
        supports: int = conflict.left_supports  # type: ignore[attr-defined]  # `with_details`
        return _side(conflict_sides.sides_of(conflict).left, supports)

    @extend_schema_field(SideOut)
    def get_right(self, conflict: Conflict) -> dict[str, Any]:
        supports: int = conflict.right_supports  # type: ignore[attr-defined]  # `with_details`
        return _side(conflict_sides.sides_of(conflict).right, supports)


def _side(side: Side, supports: int) -> dict[str, Any]:
    entry = side.entry
    counters = {} if side.delta else {n: getattr(entry, n, 0) for n in COUNTERS}
    return {
        "kind": "delta" if side.delta else "entry",
        "entry_id": str(entry.pk) if entry else None,
        "delta_id": str(side.delta.pk) if side.delta else None,
        "label": entry.label if entry else None,
        "content": side.content,
        "condition": side.condition,
        "status": side.status,
        "version": side.version,
        **(dict.fromkeys(COUNTERS, 0) | counters),
        "support_count": 0 if side.delta else supports,
        "evidence": list(evidence(side)),
    }


COUNTERS = ("helpful", "harmful", "neutral")


def evidence(side: Side) -> Iterator[dict[str, Any]]:
    """Yield the quotes of a waiting delta, or of the newest deltas of an entry."""
    deltas = [side.delta] if side.delta else _newest_quotes(side.entry)
    for delta in deltas:
        for quote in delta.evidence:
            yield {**quote, "delta_id": str(delta.pk)}


def _newest_quotes(entry: PlaybookEntry | None) -> list[Any]:
    return getattr(entry, "quoted_deltas", [])


class ConflictQuery(InProject, PageQuery):
    state = CommaList(
        child=serializers.ChoiceField(choices=Conflict.ConflictStage.choices),
        required=False,
    )


class ConflictDecision(serializers.Serializer[Any]):
    note = serializers.CharField(
        max_length=MAX_REASON, required=False, allow_blank=True, default=""
    )
    left_expected_version = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_INTEGER
    )
    right_expected_version = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_INTEGER,
        help_text="The version of the entry, or of the delta while the newer rule waits.",
    )


class SupersedeConflict(ConflictDecision):
    winner = serializers.ChoiceField(choices=["left", "right"], default="right")


class SplitConflict(ConflictDecision):
    left_condition = serializers.CharField(max_length=MAX_PART)
    right_condition = serializers.CharField(max_length=MAX_PART)
    left_content = serializers.CharField(
        max_length=MAX_CONTENT, required=False, allow_blank=True, default=""
    )
    right_content = serializers.CharField(
        max_length=MAX_CONTENT, required=False, allow_blank=True, default=""
    )

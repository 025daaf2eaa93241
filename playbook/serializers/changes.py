"""Serializers of changes, diffs and reverts."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.api.moments import LowerBound, UpperBound
from common.api.serializers import InProject, PageQuery
from common.text.word_diff import DiffPart
from playbook.entries.text_limits import MAX_INTEGER
from playbook.history.revision import SUPPORTS
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.reading import change_list, revision_diff
from playbook.review.revert import RevertResult
from playbook.serializers.entries import WithReason

# Number of entries and of deltas listed in the response to a revert (docs/limits.md).
MAX_NAMED = 100


class ChangeOut(serializers.ModelSerializer[PlaybookChange]):
    """A change of an entry.

    `diff` is the line diff of a changed text.
    """

    changed_by = serializers.CharField(read_only=True)
    before = serializers.DictField(read_only=True)
    after = serializers.DictField(read_only=True)
    related_memory_id = serializers.SerializerMethodField()
    diff = serializers.SerializerMethodField()

    class Meta:
        model = PlaybookChange
        fields = (
            "id",
            "project_id",
            "revision",
            "position",
            "operation",
            "action",
            "entry_id",
            "entry_label",
            "before",
            "after",
            "diff",
            "reason",
            "related_memory_id",
            "delta_id",
            "run_id",
            "reverts_id",
            "changed_by",
            "agent_id",
            "changed_at",
            "request_id",
        )
        read_only_fields = fields

    @extend_schema_field(serializers.UUIDField(allow_null=True))
    def get_related_memory_id(self, change: PlaybookChange) -> str | None:
        """Hide the ids of other users' memories from a bound user."""
        is_seen: bool = change.is_seen  # type: ignore[attr-defined]  # `change_list`
        memory_id = change.related_memory_id
        return str(memory_id) if memory_id and is_seen else None

    def to_representation(self, change: PlaybookChange) -> dict[str, Any]:
        data: dict[str, Any] = super().to_representation(change)
        if self.context["caller"].user_id:
            # The supports that a merge adds may belong to other users.
            own = [data["related_memory_id"]]
            for side in (data["before"], data["after"]):
                if SUPPORTS in side:
                    side[SUPPORTS] = [pk for pk in side[SUPPORTS] if pk in own]
        return data

    def get_diff(self, change: PlaybookChange) -> list[str]:
        return change_list.content_diff(change)


class ChangesQuery(InProject, PageQuery):
    operation = serializers.ChoiceField(
        choices=PlaybookChange.ChangeOperation.choices, required=False
    )
    action = serializers.ChoiceField(choices=change_list.ACTIONS, required=False)
    actor = serializers.CharField(max_length=200, required=False)
    agent_id = serializers.CharField(max_length=255, required=False)
    entry = serializers.UUIDField(required=False)
    date_from = LowerBound(required=False)
    date_to = UpperBound(required=False)


class RevertIn(InProject, WithReason):
    """The target of a revert.

    The target is one of change, delta, run, revision, or a range.
    """

    change = serializers.UUIDField(required=False)
    delta = serializers.UUIDField(
        required=False,
        help_text="A delta in force is reverted; a reverted one is put in force again.",
    )
    run = serializers.UUIDField(required=False)
    revision = serializers.IntegerField(
        min_value=0,
        max_value=MAX_INTEGER,
        required=False,
        help_text="Everything after it is reverted.",
    )
    from_revision = serializers.IntegerField(
        min_value=0,
        max_value=MAX_INTEGER,
        required=False,
        help_text="Everything after it, up to `to_revision`, is reverted.",
    )
    to_revision = serializers.IntegerField(
        min_value=1, max_value=MAX_INTEGER, required=False
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        is_range = "from_revision" in attrs or "to_revision" in attrs
        targets = [n for n in ("change", "delta", "run", "revision") if n in attrs]
        if len(targets) + is_range != 1:
            raise serializers.ValidationError(
                "Name exactly one of change, delta, run, revision, or from_revision "
                "with to_revision."
            )
        if is_range and attrs.get("to_revision", 0) <= attrs.get(
            "from_revision", MAX_INTEGER
        ):
            raise serializers.ValidationError(
                {"to_revision": "A range needs from_revision and a later to_revision."}
            )
        return attrs


class RevertedEntry(serializers.ModelSerializer[PlaybookEntry]):
    class Meta:
        model = PlaybookEntry
        fields = ("id", "label", "status", "version")
        read_only_fields = fields


class RevertedDelta(serializers.ModelSerializer[PlaybookDelta]):
    class Meta:
        model = PlaybookDelta
        fields = ("id", "operation", "status")
        read_only_fields = fields


class RevertOut(serializers.Serializer[RevertResult]):
    """The new revision, with the first hundred entries and the first hundred deltas."""

    revision = serializers.IntegerField()
    change_count = serializers.IntegerField()
    entry_count = serializers.IntegerField()
    entries = RevertedEntry(many=True)
    delta_count = serializers.IntegerField()
    deltas = RevertedDelta(many=True)
    notes = serializers.ListField(child=serializers.CharField())


def revert_output(result: RevertResult) -> dict[str, Any]:
    return {
        "revision": result.revision,
        "change_count": len(result.changes),
        "entry_count": len(result.entries),
        "entries": RevertedEntry(result.entries[:MAX_NAMED], many=True).data,
        "delta_count": len(result.deltas),
        "deltas": RevertedDelta(result.deltas[:MAX_NAMED], many=True).data,
        "notes": list(result.notes),
    }


class DiffQuery(InProject):
    from_revision = serializers.IntegerField(min_value=0, max_value=MAX_INTEGER)
    to_revision = serializers.IntegerField(
        min_value=0,
        max_value=MAX_INTEGER,
        required=False,
        help_text="The newest revision by default.",
    )
    limit = serializers.IntegerField(min_value=1, max_value=100, required=False)
    cursor = serializers.CharField(required=False)


class WordsOut(serializers.Serializer[DiffPart]):
    kind = serializers.ChoiceField(choices=["same", "removed", "added"])
    text = serializers.CharField()


class BeforeAfterOut(serializers.Serializer[Any]):
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class DifferenceOut(serializers.Serializer[Any]):
    """The difference in one entry.

    `kind` considers only whether the entry is active.
    """

    entry_id = serializers.UUIDField()
    entry_label = serializers.CharField()
    kind = serializers.ChoiceField(choices=["added", "removed", "changed"])
    columns = serializers.SerializerMethodField()
    words = WordsOut(many=True)

    @extend_schema_field(serializers.DictField(child=BeforeAfterOut()))
    def get_columns(
        self, one: revision_diff.EntryDifference
    ) -> dict[str, dict[str, Any]]:
        return {
            name: {"before": before, "after": after}
            for name, (before, after) in one.columns.items()
        }


class DiffPage(serializers.Serializer[Any]):
    from_revision = serializers.IntegerField()
    to_revision = serializers.IntegerField()
    added = serializers.IntegerField()
    removed = serializers.IntegerField()
    changed = serializers.IntegerField()
    results = DifferenceOut(many=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)

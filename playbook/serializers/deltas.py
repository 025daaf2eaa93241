"""Serializers of proposals, their evidence, and the decisions about them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.api.serializers import InProject, PageQuery
from common.caller import Caller, Role
from memories.serializers.fields import CommaList
from playbook.entries.text_limits import MAX_CONTENT, MAX_INTEGER, MAX_QUOTE, MAX_REASON
from playbook.history.operations import WRITES_TEXT
from playbook.lessons import person_edits
from playbook.models import PlaybookDelta
from playbook.review import available, delta_review
from playbook.review.available import Permissions
from playbook.serializers.entries import (
    EntryDetail,
    EntryText,
    WithReason,
    WithVersion,
)

# What others than reviewers read instead of the reason of a delta in quarantine.
HIDDEN = "It is in quarantine, so only reviewers read it."


class QuoteIn(serializers.Serializer[Any]):
    field = serializers.CharField(max_length=200)
    start = serializers.IntegerField(min_value=0, max_value=MAX_INTEGER)
    end = serializers.IntegerField(min_value=1, max_value=MAX_INTEGER)
    quote = serializers.CharField(max_length=MAX_QUOTE, trim_whitespace=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["end"] <= attrs["start"]:
            raise serializers.ValidationError({"end": "It must be after start."})
        return attrs


class TargetIn(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    version = serializers.IntegerField(
        min_value=1, max_value=MAX_INTEGER, required=False
    )


class CreateDelta(InProject, EntryText, WithReason, WithVersion):
    """A proposal of an agent. Its quotes are cut from fields of the memory `memory_id`."""

    OPERATIONS = ("add", "update", "delete", "merge", "deprecate", "restore", "tag")

    operation = serializers.ChoiceField(choices=OPERATIONS)
    entry_id = serializers.UUIDField(required=False)
    targets = TargetIn(many=True, required=False, max_length=50)  # type: ignore[call-arg]  # the list's
    evidence = QuoteIn(many=True, required=False, max_length=50)  # type: ignore[call-arg]  # the list's
    memory_id = serializers.UUIDField(required=False)
    agent_id = serializers.CharField(max_length=255, required=False, allow_blank=True)
    producer = serializers.ChoiceField(choices=["model", "human"], default="model")
    producer_name = serializers.CharField(
        max_length=100, required=False, allow_blank=True, default=""
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        operation = attrs["operation"]
        required_fields = {
            "add": ["content", "category"],
            "tag": ["entry_id", "tags"],
            "merge": ["entry_id", "targets"],
        }.get(operation, ["entry_id"])
        missing = [
            name for name in required_fields if not attrs.get(name) and name != "tags"
        ]
        if operation == "tag" and "tags" not in attrs:
            missing.append("tags")
        if operation == "add" and "entry_id" in attrs:
            raise serializers.ValidationError(
                {"entry_id": "An addition takes no entry_id."}
            )
        if missing:
            raise serializers.ValidationError(
                dict.fromkeys(missing, f"The operation {operation} requires it.")
            )
        self._refuse_ignored(attrs)
        if operation == "update" and not set(person_edits.EDITABLE_COLUMNS) & set(
            attrs
        ):
            raise serializers.ValidationError(
                {"content": "An update changes at least one column."}
            )
        if attrs["producer"] == "model":
            self._refuse_for_models(attrs)
        return attrs

    @staticmethod
    def _refuse_ignored(attrs: dict[str, Any]) -> None:
        """Refuse columns and targets that the operation would ignore."""
        operation = attrs["operation"]
        ignored = set(person_edits.EDITABLE_COLUMNS) & set(attrs)
        ignored -= {"tags"} if operation == "tag" else set()
        if ignored and operation not in WRITES_TEXT:
            raise serializers.ValidationError(
                dict.fromkeys(ignored, f"The operation {operation} does not set it.")
            )
        others = [target["id"] for target in attrs.get("targets", ())]
        if others and operation != "merge":
            raise serializers.ValidationError(
                {"targets": "Only a merge has further entries."}
            )
        if len({attrs.get("entry_id"), *others}) <= len(others):
            raise serializers.ValidationError(
                {"targets": "Name each entry once, without the entry to merge into."}
            )

    @staticmethod
    def _refuse_for_models(attrs: dict[str, Any]) -> None:
        """Refuse columns that only a person may set."""
        person_columns = [
            n for n in ("priority", "pinned", "locked", "review_after") if n in attrs
        ]
        if person_columns:
            raise serializers.ValidationError(
                dict.fromkeys(person_columns, "Only a person may set this.")
            )
        if attrs["operation"] == "update" and "content" not in attrs:
            raise serializers.ValidationError(
                {"content": "An update by a model needs the whole text."}
            )


class QuoteOut(serializers.Serializer[Any]):
    source = serializers.CharField(
        default="run", help_text="What is quoted: a run, a message or a commit."
    )  # type: ignore[assignment]  # a field of that name
    id = serializers.CharField(default="")
    field = serializers.CharField()
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    quote = serializers.CharField()
    speaker = serializers.CharField(
        default="", help_text="Who said it: person, call, test, agent or foreign."
    )


class GateOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    verdict = serializers.ChoiceField(choices=["pass", "warn", "fail"])
    value = serializers.JSONField(allow_null=True)
    threshold = serializers.JSONField(allow_null=True)
    message = serializers.CharField()


class DeltaOut(serializers.ModelSerializer[PlaybookDelta]):
    project_id = serializers.UUIDField(read_only=True)
    entry_id = serializers.UUIDField(read_only=True, allow_null=True)
    entry_label = serializers.CharField(
        source="entry.label", default=None, read_only=True, allow_null=True
    )
    evidence = QuoteOut(many=True, read_only=True)
    gates = GateOut(many=True, read_only=True)
    payload = serializers.DictField(read_only=True)
    suggested = serializers.DictField(
        read_only=True, help_text="The original proposal, if a person changed it."
    )
    targets = serializers.ListField(child=serializers.DictField(), read_only=True)
    actions = serializers.SerializerMethodField(
        help_text="What this caller may do with it now; in quarantine, it is edited or rejected."
    )

    class Meta:
        model = PlaybookDelta
        fields = (
            "id",
            "project_id",
            "operation",
            "status",
            "risk",
            "entry_id",
            "entry_label",
            "expected_version",
            "targets",
            "content",
            "category",
            "kind",
            "tags",
            "applies_to",
            "confidence",
            "expires_when",
            "session",
            "payload",
            "suggested",
            "reason",
            "evidence",
            "gates",
            "producer",
            "producer_name",
            "producer_version",
            "proposed_by",
            "agent_id",
            "run_id",
            "memory_id",
            "seen_again",
            "reviewer",
            "review_note",
            "reviewed_at",
            "created_at",
            "version",
            "actions",
        )
        read_only_fields = fields

    def to_representation(self, delta: PlaybookDelta) -> dict[str, Any]:
        """Hide the words of a quarantined delta from callers who do not review it."""
        shown = super().to_representation(delta)
        may_review = self._permissions.caller.may(Role.CURATOR, delta.project_id)
        if delta.is_quarantined and not may_review:
            hidden = {"content": "", "reason": "", "review_note": HIDDEN}
            shown |= {"tags": None, "applies_to": None, "expires_when": ""}
            shown |= {**hidden, "payload": {}, "suggested": {}, "evidence": []}
            shown["gates"] = [gate | {"message": ""} for gate in shown["gates"]]
        return shown

    @property
    def _permissions(self) -> Permissions:
        """The caller's permissions: one look-up of its keys serves a whole page."""
        found: Permissions | None = self.context.get("permissions")
        return found or Permissions(self.context["caller"])

    @extend_schema_field(
        serializers.ListField(child=serializers.ChoiceField(choices=available.ACTIONS))
    )
    def get_actions(self, delta: PlaybookDelta) -> list[str]:
        return list(self._permissions.actions(delta))


def describe_delta(delta: PlaybookDelta, caller: Caller) -> dict[str, Any]:
    return dict(DeltaOut(delta, context={"caller": caller}).data)


class DeltaQuery(InProject, PageQuery):
    status = CommaList(
        child=serializers.ChoiceField(choices=PlaybookDelta.DeltaStatus.choices),
        required=False,
    )
    operation = CommaList(
        child=serializers.ChoiceField(choices=PlaybookDelta.DeltaOperation.choices),
        required=False,
    )
    producer = serializers.ChoiceField(
        choices=PlaybookDelta.Producer.choices, required=False
    )
    risk = serializers.ChoiceField(
        choices=["low", "medium", "high", "quarantine"], required=False
    )
    entry = serializers.UUIDField(required=False)
    run_id = serializers.UUIDField(required=False)


class WriteOut(serializers.Serializer[Any]):
    """The result of a direct change.

    The result has the delta, and also the entry of the delta once the delta is applied.
    """

    delta = DeltaOut()
    entry = EntryDetail(allow_null=True)


class DecideDelta(WithVersion):
    note = serializers.CharField(
        max_length=MAX_REASON, required=False, allow_blank=True, default=""
    )


class AcceptDelta(DecideDelta):
    replaces = serializers.CharField(
        max_length=64,
        required=False,
        help_text="The label of the live rule in whose place the new one stands.",
    )


class EditDelta(DecideDelta, EntryText):
    pass


class MergeDelta(DecideDelta):
    entry_id = serializers.UUIDField(help_text="The entry to merge into.")
    content = serializers.CharField(
        max_length=MAX_CONTENT,
        required=False,
        help_text="The merged text. By default the service merges both texts, keeping every "
        "number, path and identifier, or refuses.",
    )
    entry_version = serializers.IntegerField(
        min_value=1,
        max_value=MAX_INTEGER,
        required=False,
        help_text="Refused with 409 if the entry has another version.",
    )


class RejectDelta(WithVersion):
    reason = serializers.CharField(max_length=MAX_REASON)
    reason_code = serializers.ChoiceField(
        choices=delta_review.REASON_CODES, required=False
    )


class UndoDelta(WithReason, WithVersion):
    pass


class BulkDeltas(InProject, WithReason):
    action = serializers.ChoiceField(choices=["accept", "reject"])
    ids = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=100
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["action"] == "reject" and not attrs["reason"]:
            raise serializers.ValidationError(
                {"reason": "A rejection needs a reason for its author."}
            )
        return attrs


class BulkItem(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="delta_id")
    status = serializers.CharField()
    problem = serializers.DictField(required=False, allow_null=True)


class BulkOut(serializers.Serializer[Any]):
    results = BulkItem(many=True)

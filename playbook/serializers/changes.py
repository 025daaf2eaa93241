"""What happened to the playbook."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.api.serializers import InProject
from common.text.word_diff import DiffPart
from playbook.entries.text_limits import MAX_INTEGER
from playbook.history.revision import SUPPORTS
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.reading import blame, change_list, revision_diff
from playbook.review.revert import RevertResult
from playbook.serializers.entries import WithReason

# Entries and deltas named in the answer to a revert: docs/limits.md
MAX_NAMED = 100


class ChangeOut(serializers.ModelSerializer[PlaybookChange]):
    """A change. `diff` shows a changed text line by line."""

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
        """A bound user is not told the ids of another user's memories."""
        is_seen: bool = change.is_seen  # type: ignore[attr-defined]  # `reading`
        found = change.related_memory_id
        return str(found) if found and is_seen else None

    def to_representation(self, change: PlaybookChange) -> dict[str, Any]:
        shown: dict[str, Any] = super().to_representation(change)
        if self.context["caller"].user_id:
            # What a merge takes over may be of anybody.
            own = [shown["related_memory_id"]]
            for side in (shown["before"], shown["after"]):
                if SUPPORTS in side:
                    side[SUPPORTS] = [pk for pk in side[SUPPORTS] if pk in own]
        return shown

    def get_diff(self, change: PlaybookChange) -> list[str]:
        return change_list.content_diff(change)


class ChangesQuery(InProject):
    operation = serializers.ChoiceField(
        choices=PlaybookChange.ChangeOperation.choices, required=False
    )
    action = serializers.ChoiceField(choices=change_list.ACTIONS, required=False)
    actor = serializers.CharField(max_length=200, required=False)
    agent_id = serializers.CharField(max_length=255, required=False)
    entry = serializers.UUIDField(required=False)
    date_from = serializers.DateTimeField(required=False)
    date_to = serializers.DateTimeField(required=False)


class RevertIn(InProject, WithReason):
    """Name one of change, delta, run, revision, or the two ends of a range."""

    change = serializers.UUIDField(required=False)
    delta = serializers.UUIDField(
        required=False,
        help_text="One in force is taken back; one that was taken back is in force "
        "again.",
    )
    run = serializers.UUIDField(required=False)
    revision = serializers.IntegerField(
        min_value=0,
        max_value=MAX_INTEGER,
        required=False,
        help_text="Everything after it is taken back.",
    )
    from_revision = serializers.IntegerField(
        min_value=0,
        max_value=MAX_INTEGER,
        required=False,
        help_text="Everything after it, up to `to_revision`: what `diff` shows.",
    )
    to_revision = serializers.IntegerField(
        min_value=1, max_value=MAX_INTEGER, required=False
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        is_range = "from_revision" in attrs or "to_revision" in attrs
        named = [n for n in ("change", "delta", "run", "revision") if n in attrs]
        if len(named) + is_range != 1:
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
    """The new revision. The first hundred entries and deltas are named."""

    revision = serializers.IntegerField()
    change_count = serializers.IntegerField()
    entry_count = serializers.IntegerField()
    entries = RevertedEntry(many=True)
    delta_count = serializers.IntegerField()
    deltas = RevertedDelta(many=True)
    notes = serializers.ListField(child=serializers.CharField())


def revert_output(done: RevertResult) -> dict[str, Any]:
    return {
        "revision": done.revision,
        "change_count": len(done.changes),
        "entry_count": len(done.entries),
        "entries": RevertedEntry(done.entries[:MAX_NAMED], many=True).data,
        "delta_count": len(done.deltas),
        "deltas": RevertedDelta(done.deltas[:MAX_NAMED], many=True).data,
        "notes": list(done.notes),
    }


class DiffQuery(InProject):
    from_revision = serializers.IntegerField(min_value=0, max_value=MAX_INTEGER)
    to_revision = serializers.IntegerField(
        min_value=0,
        max_value=MAX_INTEGER,
        required=False,
        help_text="The present one when left out.",
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
    """`kind` is as agents see it: only what is active counts as there."""

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


class OriginOut(serializers.ModelSerializer[PlaybookChange]):
    """The change that something came with."""

    change_id = serializers.UUIDField(source="pk", read_only=True)

    class Meta:
        model = PlaybookChange
        fields = (
            "change_id",
            "revision",
            "action",
            "actor",
            "agent_id",
            "delta_id",
            "run_id",
            "changed_at",
            "reason",
        )
        read_only_fields = fields


class BlamePartOut(serializers.Serializer[blame.BlamePart]):
    text = serializers.CharField()
    change = OriginOut()


class BlameOut(serializers.Serializer[blame.Blame]):
    """`parts` joined are the text; `columns` are named with their last change."""

    entry_id = serializers.UUIDField(source="entry.pk")
    entry_label = serializers.CharField(source="entry.label")
    version = serializers.IntegerField(source="entry.version")
    parts = BlamePartOut(many=True)
    columns = serializers.DictField(child=OriginOut())

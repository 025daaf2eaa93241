"""What comes in and what goes out; neither writes."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from access.doors import InProject
from memories.serializers import CommaList, TagsField
from playbook import curation, reading
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry, Support
from playbook.reading import Past
from playbook.revisions import SUPPORTS

# Lengths: docs/limits.md
CONTENT, PART, REASON, QUOTE, TAG = 4_000, 1_000, 1_000, 4_000, 64
MOST = 2**31 - 1
LEAST = -(2**31)

STATUSES = PlaybookEntry.Status.choices
ENTRY_COLUMNS = (
    "label",
    "content",
    "category",
    "condition",
    "action",
    "tags",
    "priority",
    "status",
    "helpful",
    "harmful",
    "neutral",
    "author_kind",
    "locked",
    "pinned",
    "created_at",
    "created_by",
    "updated_at",
    "verified_at",
    "review_after",
    "version",
    "merged_from",
    "aliases",
)


class EntryOut(serializers.ModelSerializer[PlaybookEntry]):
    """An entry (REQ-MEM-DM-006); `is_embedded` stands for its vector."""

    project_id = serializers.UUIDField(read_only=True)
    is_active = serializers.BooleanField(source="is_live", read_only=True)
    superseded_by = serializers.UUIDField(
        source="superseded_by_id", read_only=True, allow_null=True
    )
    supporting_memory_ids = serializers.SerializerMethodField(
        help_text="The newest hundred that you may see; `support_count` counts all."
    )
    support_count = serializers.IntegerField(read_only=True)
    is_embedded = serializers.BooleanField(read_only=True)
    is_contested = serializers.SerializerMethodField(
        help_text="In an open conflict, or harmful at least as often as helpful."
    )
    confidence = serializers.FloatField(read_only=True)

    class Meta:
        model = PlaybookEntry
        fields = (
            "id",
            "project_id",
            *ENTRY_COLUMNS,
            "is_active",
            "superseded_by",
            "supporting_memory_ids",
            "support_count",
            "is_embedded",
            "is_contested",
            "confidence",
        )
        read_only_fields = fields

    @extend_schema_field(serializers.ListField(child=serializers.UUIDField()))
    def get_supporting_memory_ids(self, entry: PlaybookEntry) -> list[str]:
        shown: list[Support] = entry.shown_supports  # type: ignore[attr-defined]  # `in_full`
        return [str(support.memory_id) for support in reversed(shown)]

    def get_is_contested(self, entry: PlaybookEntry) -> bool:
        is_disputed: bool = entry.is_disputed  # type: ignore[attr-defined]  # `in_full`
        return is_disputed or entry.harmful >= max(entry.helpful, 1)


class EntryDetail(EntryOut):
    line = serializers.CharField(
        read_only=True, help_text="The entry as an agent is given it."
    )
    tokens = serializers.IntegerField(read_only=True)

    class Meta:
        model = PlaybookEntry
        fields = (*EntryOut.Meta.fields, "line", "tokens")
        read_only_fields = fields


def past(entry: Past, project_id: object, seen: set[str] | None) -> dict[str, Any]:
    """An entry at a revision, with the columns that replay gives back.

    `seen` are the memories that the caller may see; None says all of them.
    """
    columns = {name: entry.state[name] for name in ENTRY_COLUMNS}
    return {
        "id": str(entry.id),
        "project_id": str(project_id),
        **columns,
        "is_active": entry.state["status"] == PlaybookEntry.Status.ACTIVE,
        "superseded_by": entry.state["superseded_by_id"],
        "supporting_memory_ids": [
            pk for pk in entry.supporting_memory_ids if seen is None or pk in seen
        ],
    }


class PlaybookQuery(InProject):
    category = CommaList(child=serializers.CharField(max_length=40), required=False)
    tags = CommaList(child=serializers.CharField(max_length=TAG), required=False)
    tags_match = serializers.ChoiceField(choices=["all", "any"], default="all")
    status = CommaList(
        child=serializers.ChoiceField(choices=STATUSES), default=["active"]
    )
    q = serializers.CharField(
        max_length=10_000,
        required=False,
        help_text="Searches by meaning and by words; best first.",
    )
    sort = serializers.ChoiceField(choices=reading.SORTS, required=False)
    order = serializers.ChoiceField(choices=["asc", "desc"], default="desc")
    revision = serializers.IntegerField(
        min_value=0,
        max_value=MOST,
        required=False,
        help_text="The playbook as it was then, without what only the present has.",
    )
    limit = serializers.IntegerField(min_value=1, max_value=100, required=False)
    cursor = serializers.CharField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "q" in attrs and "revision" in attrs:
            raise serializers.ValidationError(
                {"q": "Only the present can be searched: leave revision out."}
            )
        if "q" in attrs and "sort" in attrs:
            raise serializers.ValidationError(
                {"sort": "What a query finds is sorted by how well it fits."}
            )
        return attrs


class PlaybookPage(serializers.Serializer[Any]):
    results = EntryOut(many=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    revision = serializers.IntegerField()
    notes = serializers.ListField(child=serializers.CharField())


class EntryText(serializers.Serializer[Any]):
    """What a person may set in an entry."""

    content = serializers.CharField(max_length=CONTENT, required=False)
    category = serializers.CharField(max_length=40, required=False)
    condition = serializers.CharField(max_length=PART, required=False, allow_blank=True)
    action = serializers.CharField(max_length=PART, required=False, allow_blank=True)
    tags = TagsField(required=False)
    priority = serializers.IntegerField(min_value=LEAST, max_value=MOST, required=False)
    pinned = serializers.BooleanField(required=False)
    locked = serializers.BooleanField(required=False)
    review_after = serializers.DateTimeField(required=False, allow_null=True)


class Reasoned(serializers.Serializer[Any]):
    reason = serializers.CharField(
        max_length=REASON, required=False, allow_blank=True, default=""
    )


class Versioned(serializers.Serializer[Any]):
    expected_version = serializers.IntegerField(
        min_value=1,
        max_value=MOST,
        required=False,
        help_text="Refused with 409 when the row is at another version.",
    )


class CreateEntry(InProject, EntryText, Reasoned):
    content = serializers.CharField(max_length=CONTENT)
    category = serializers.CharField(max_length=40, default="general")


class UpdateEntry(EntryText, Reasoned, Versioned):
    pass


class DeleteEntryQuery(Reasoned, Versioned):
    pass


class QuoteIn(serializers.Serializer[Any]):
    field = serializers.CharField(max_length=200)
    start = serializers.IntegerField(min_value=0, max_value=MOST)
    end = serializers.IntegerField(min_value=1, max_value=MOST)
    quote = serializers.CharField(max_length=QUOTE, trim_whitespace=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["end"] <= attrs["start"]:
            raise serializers.ValidationError({"end": "It must be after start."})
        return attrs


class TargetIn(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    version = serializers.IntegerField(min_value=1, max_value=MOST, required=False)


class CreateDelta(InProject, EntryText, Reasoned, Versioned):
    """A proposal of an agent. Quotes are cut from fields of the memory `memory_id`."""

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
        needed = {
            "add": ["content", "category"],
            "tag": ["entry_id", "tags"],
            "merge": ["entry_id", "targets"],
        }.get(operation, ["entry_id"])
        missing = [name for name in needed if not attrs.get(name) and name != "tags"]
        if operation == "tag" and "tags" not in attrs:
            missing.append("tags")
        if operation == "add" and "entry_id" in attrs:
            raise serializers.ValidationError(
                {"entry_id": "An addition has no entry yet."}
            )
        if missing:
            raise serializers.ValidationError(
                dict.fromkeys(missing, f"The operation {operation} needs it.")
            )
        if operation == "update" and not set(curation.EDITABLE) & set(attrs):
            raise serializers.ValidationError(
                {"content": "An update names at least one column to change."}
            )
        if attrs["producer"] == "model":
            self._refuse_for_models(attrs)
        return attrs

    @staticmethod
    def _refuse_for_models(attrs: dict[str, Any]) -> None:
        """What is no text of the rule is a person's to set."""
        theirs = [
            n for n in ("priority", "pinned", "locked", "review_after") if n in attrs
        ]
        if theirs:
            raise serializers.ValidationError(
                dict.fromkeys(theirs, "Only a person sets this.")
            )
        if attrs["operation"] == "update" and "content" not in attrs:
            raise serializers.ValidationError(
                {"content": "An update by a model gives the whole text."}
            )


class QuoteOut(serializers.Serializer[Any]):
    field = serializers.CharField()
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    quote = serializers.CharField()


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
    targets = serializers.ListField(child=serializers.DictField(), read_only=True)

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
            "payload",
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
            "reviewer",
            "review_note",
            "reviewed_at",
            "created_at",
            "version",
        )
        read_only_fields = fields


class DeltaQuery(InProject):
    status = CommaList(
        child=serializers.ChoiceField(choices=PlaybookDelta.Status.choices),
        required=False,
    )
    operation = CommaList(
        child=serializers.ChoiceField(choices=PlaybookDelta.Operation.choices),
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


class Written(serializers.Serializer[Any]):
    """What became of a direct change: the delta, and the entry once it is applied."""

    delta = DeltaOut()
    entry = EntryDetail(allow_null=True)


class AcceptDelta(Versioned):
    note = serializers.CharField(
        max_length=REASON, required=False, allow_blank=True, default=""
    )


class EditDelta(AcceptDelta, EntryText):
    pass


class RejectDelta(Versioned):
    reason = serializers.CharField(max_length=REASON)


class BulkDeltas(InProject, Reasoned):
    action = serializers.ChoiceField(choices=["accept", "reject"])
    ids = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=100
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["action"] == "reject" and not attrs["reason"]:
            raise serializers.ValidationError(
                {"reason": "A rejection says why, for whoever proposed it."}
            )
        return attrs


class BulkItem(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="delta_id")
    status = serializers.CharField()
    problem = serializers.DictField(required=False, allow_null=True)


class BulkOut(serializers.Serializer[Any]):
    results = BulkItem(many=True)


class ChangeOut(serializers.ModelSerializer[PlaybookChange]):
    """A change (REQ-MEM-DM-007). `diff` shows a changed text line by line."""

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
        found = change.related_memory_id
        return str(found) if found and self._is_told(change) else None

    def _is_told(self, change: PlaybookChange) -> bool:
        """A bound user is not told the ids of another user's memories."""
        is_seen: bool = change.is_seen  # type: ignore[attr-defined]  # `reading`
        return is_seen

    def to_representation(self, change: PlaybookChange) -> dict[str, Any]:
        shown: dict[str, Any] = super().to_representation(change)
        if not self._is_told(change):
            for side in ("before", "after"):
                kept = {n: v for n, v in shown[side].items() if n != SUPPORTS}
                shown[side] = kept
        return shown

    def get_diff(self, change: PlaybookChange) -> list[str]:
        return reading.difference(change)


class ChangesQuery(InProject):
    operation = serializers.ChoiceField(
        choices=PlaybookChange.Operation.choices, required=False
    )
    action = serializers.ChoiceField(choices=reading.ACTIONS, required=False)
    actor = serializers.CharField(max_length=200, required=False)
    agent_id = serializers.CharField(max_length=255, required=False)
    entry = serializers.UUIDField(required=False)
    date_from = serializers.DateTimeField(required=False)
    date_to = serializers.DateTimeField(required=False)


class RenderQuery(InProject):
    token_budget = serializers.IntegerField(
        min_value=1, max_value=200_000, required=False
    )
    task = serializers.CharField(max_length=10_000, required=False, default="")


class RenderedEntry(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field of that name
    version = serializers.IntegerField()


class RenderOut(serializers.Serializer[Any]):
    """`text` holds one line an entry. It is data for a prompt, never instructions."""

    text = serializers.CharField()
    entries = RenderedEntry(many=True)
    revision = serializers.IntegerField()
    tokens = serializers.IntegerField()
    token_budget = serializers.IntegerField(source="budget")
    left_out = serializers.IntegerField()
    notes = serializers.ListField(child=serializers.CharField())


def settings_of(data: dict[str, Any]) -> dict[str, Any]:
    """The columns of an entry that a body names."""
    return {name: data[name] for name in curation.EDITABLE if name in data}

"""Serializers of entries, and of the columns that a person may set."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.api.serializers import InProject
from memories.serializers.fields import CommaList, TagsField, TagsQuery
from playbook.entries import freshness
from playbook.entries.text_limits import (
    MAX_CONTENT,
    MAX_INTEGER,
    MAX_PART,
    MAX_REASON,
    MIN_INTEGER,
)
from playbook.lessons import person_edits
from playbook.models import PlaybookEntry, Support
from playbook.reading import entry_list, exposures
from playbook.reading.past_revisions import PastEntry
from playbook.rule_text import applicability

APPLIES_TO_HELP = "`always`, `tool:NAME`, `path:GLOB` or `language:NAME`; empty for a rule about a topic."
STATUSES = PlaybookEntry.EntryStatus.choices
ENTRY_COLUMNS = (
    "label",
    "content",
    "category",
    "condition",
    "action",
    "tags",
    "applies_to",
    "expires_when",
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
    """An entry of the playbook.

    `is_embedded` says whether the entry has a vector.
    """

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
        help_text="In an open conflict, harmful at least as often as helpful, or put in "
        "doubt by a waiting proposal (`payload.doubt`)."
    )
    confidence = serializers.FloatField(read_only=True)
    is_due = serializers.SerializerMethodField(
        help_text="`review_after` is past, so the entry needs a review."
    )
    is_suspect = serializers.SerializerMethodField(
        help_text="A file that it depends on has changed since it was last confirmed."
    )
    suspect_files = serializers.SerializerMethodField()

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
            "is_due",
            "is_suspect",
            "suspect_files",
        )
        read_only_fields = fields

    @extend_schema_field(serializers.ListField(child=serializers.UUIDField()))
    def get_supporting_memory_ids(self, entry: PlaybookEntry) -> list[str]:
        supports: list[Support] = entry.recent_supports  # type: ignore[attr-defined]  # `with_details`
        return [str(support.memory_id) for support in reversed(supports)]

    def get_is_contested(self, entry: PlaybookEntry) -> bool:
        return freshness.is_in_doubt(entry)

    def get_is_due(self, entry: PlaybookEntry) -> bool:
        return freshness.is_due(entry.review_after)

    def get_is_suspect(self, entry: PlaybookEntry) -> bool:
        return bool(freshness.changed_files(entry))

    def get_suspect_files(self, entry: PlaybookEntry) -> list[str]:
        return list(freshness.changed_files(entry))


class UseOut(serializers.Serializer[exposures.EntryUse]):
    """How often agents got the entry, and how often they reported that they used the entry."""

    times_given = serializers.IntegerField()
    times_cited = serializers.IntegerField()
    times_used = serializers.IntegerField(
        help_text="Cited, or the task did what it recommends or touched a file that it names."
    )
    last_given_at = serializers.DateTimeField(allow_null=True)
    last_cited_at = serializers.DateTimeField(allow_null=True)


class EntryDetail(EntryOut):
    line = serializers.CharField(read_only=True, help_text="The line that agents get.")
    tokens = serializers.IntegerField(read_only=True)
    use = serializers.SerializerMethodField()

    class Meta:
        model = PlaybookEntry
        fields = (*EntryOut.Meta.fields, "line", "tokens", "use")
        read_only_fields = fields

    @extend_schema_field(UseOut)
    def get_use(self, entry: PlaybookEntry) -> Any:
        return UseOut(exposures.count_use(entry)).data


def past_entry_output(
    entry: PastEntry, project_id: object, visible: set[str] | None
) -> dict[str, Any]:
    """Return an entry at a revision, with the columns that replay restores.

    `visible` are the memories that the caller may see. None means all memories.
    """
    columns = {name: entry.state[name] for name in ENTRY_COLUMNS}
    return {
        "id": str(entry.id),
        "project_id": str(project_id),
        **columns,
        "is_active": entry.state["status"] == PlaybookEntry.EntryStatus.ACTIVE,
        "superseded_by": entry.state["superseded_by_id"],
        "supporting_memory_ids": [
            pk for pk in entry.supporting_memory_ids if visible is None or pk in visible
        ],
    }


class PlaybookQuery(InProject, TagsQuery):
    category = CommaList(child=serializers.CharField(max_length=40), required=False)
    status = CommaList(
        child=serializers.ChoiceField(choices=STATUSES), default=lambda: ["active"]
    )
    q = serializers.CharField(
        max_length=10_000,
        required=False,
        help_text="Searches by meaning and by words; best first.",
    )
    sort = serializers.ChoiceField(choices=entry_list.SORTS, required=False)
    order = serializers.ChoiceField(choices=["asc", "desc"], default="desc")
    revision = serializers.IntegerField(
        min_value=0,
        max_value=MAX_INTEGER,
        required=False,
        help_text="The playbook at this revision, with the columns that replay restores.",
    )
    freshness = serializers.ChoiceField(
        choices=freshness.FRESHNESS,
        required=False,
        help_text="Due for review, suspect because of a changed file, or neither.",
    )
    limit = serializers.IntegerField(min_value=1, max_value=100, required=False)
    cursor = serializers.CharField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "q" in attrs and "revision" in attrs:
            raise serializers.ValidationError(
                {"q": "Only the current playbook can be searched: omit revision."}
            )
        if "freshness" in attrs and "revision" in attrs:
            raise serializers.ValidationError(
                {"freshness": "Only current entries have a freshness: omit revision."}
            )
        if "q" in attrs and "sort" in attrs:
            raise serializers.ValidationError(
                {"sort": "The results of a query are sorted by relevance: omit sort."}
            )
        return attrs


class PlaybookPage(serializers.Serializer[Any]):
    results = EntryOut(many=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    revision = serializers.IntegerField()
    notes = serializers.ListField(child=serializers.CharField())


class AppliesToField(serializers.ListField):
    """Where a rule applies."""

    child = serializers.CharField(max_length=applicability.MAX_VALUE)

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", applicability.MAX_VALUES)
        kwargs.setdefault("help_text", APPLIES_TO_HELP)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> list[str]:
        values: list[str] = super().to_internal_value(data)
        try:
            return [applicability.check(value) for value in values]
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error


class EntryText(serializers.Serializer[Any]):
    """The columns of an entry that a person may set."""

    content = serializers.CharField(max_length=MAX_CONTENT, required=False)
    category = serializers.CharField(max_length=40, required=False)
    condition = serializers.CharField(
        max_length=MAX_PART, required=False, allow_blank=True
    )
    action = serializers.CharField(
        max_length=MAX_PART, required=False, allow_blank=True
    )
    tags = TagsField(required=False)
    applies_to = AppliesToField(required=False)
    priority = serializers.IntegerField(
        min_value=MIN_INTEGER, max_value=MAX_INTEGER, required=False
    )
    pinned = serializers.BooleanField(required=False)
    locked = serializers.BooleanField(required=False)
    review_after = serializers.DateTimeField(required=False, allow_null=True)


class WithReason(serializers.Serializer[Any]):
    reason = serializers.CharField(
        max_length=MAX_REASON, required=False, allow_blank=True, default=""
    )


class WithVersion(serializers.Serializer[Any]):
    expected_version = serializers.IntegerField(
        min_value=1,
        max_value=MAX_INTEGER,
        required=False,
        help_text="Refused with 409 if the row has another version.",
    )


class CreateEntry(InProject, EntryText, WithReason):
    content = serializers.CharField(max_length=MAX_CONTENT)
    category = serializers.CharField(max_length=40, default="general")


class UpdateEntry(EntryText, WithReason, WithVersion):
    pass


class DeleteEntryQuery(WithReason, WithVersion):
    pass


class VerifyEntry(WithVersion):
    note = serializers.CharField(
        max_length=MAX_REASON, required=False, allow_blank=True, default=""
    )
    review_after = serializers.DateTimeField(
        required=False, help_text="When the entry is to be reviewed again."
    )


def settings_of(data: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of an entry that a request sets."""
    return {name: data[name] for name in person_edits.EDITABLE_COLUMNS if name in data}

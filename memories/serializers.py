"""What comes in and what goes out; neither writes."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from access.doors import InProject
from memories import writing
from memories.drafts import FileRef
from memories.models import (
    File,
    Memory,
    MemoryChange,
    MemoryFile,
    PossibleDuplicate,
    Tag,
)
from memories.queries import Filters
from memories.scopes import KEYS

# Lengths: docs/limits.md
CONTENT, PART, TAG, TAGS, LINKS, PATH = 50_000, 20_000, 64, 100, 1_000, 1_000
PATH_BYTES = 2_500  # a b-tree entry holds 2,704, the project's id among them


class ScopeSerializer(serializers.Serializer[Any]):
    """A kind and its key, as `{"kind": "user", "user_id": "u1"}`."""

    kind = serializers.ChoiceField(choices=Memory.Scope.choices)
    session_id = serializers.CharField(max_length=255, required=False)
    user_id = serializers.CharField(max_length=255, required=False)
    workspace_id = serializers.CharField(max_length=255, required=False)
    org_id = serializers.CharField(max_length=255, required=False)
    object_type = serializers.CharField(max_length=255, required=False)
    object_id = serializers.CharField(max_length=255, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        kind = attrs["kind"]
        foreign = set(attrs) - {"kind", KEYS[kind], "object_type"}
        if kind == "session":
            foreign -= {"user_id"}
        if kind != "object" and "object_type" in attrs:
            foreign.add("object_type")
        if foreign:
            raise serializers.ValidationError(
                f"{', '.join(sorted(foreign))} does not belong to a {kind} scope."
            )
        if kind == "object" and not {"object_type", "object_id"} <= set(attrs):
            raise serializers.ValidationError(
                "An object scope needs object_type and object_id."
            )
        return attrs


class TagsField(serializers.ListField):
    """Names of 1 to 64 characters, a hundred at most."""

    child = serializers.CharField(max_length=TAG)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": TAGS} | kwargs)


class PathField(serializers.CharField):
    """A path that the unique index of the files can hold."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": PATH} | kwargs)

    def to_internal_value(self, data: Any) -> str:
        value: str = super().to_internal_value(data)
        if len(value.encode()) > PATH_BYTES:
            raise serializers.ValidationError(
                f"Ensure this field has no more than {PATH_BYTES} bytes in UTF-8."
            )
        return value


class FileRefSerializer(serializers.Serializer[Any]):
    file_path = PathField()
    relation_type = serializers.ChoiceField(
        choices=MemoryFile.Relation.choices, default="referenced"
    )
    line_start = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, required=False, allow_null=True
    )
    line_end = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, required=False, allow_null=True
    )
    content_hash = serializers.CharField(
        max_length=128, required=False, allow_blank=True, default=""
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        start, end = attrs.get("line_start"), attrs.get("line_end")
        if end is not None and (start is None or end < start):
            raise serializers.ValidationError("line_end needs a line_start before it.")
        return attrs


class MemoryTextFields(serializers.Serializer[Any]):
    """What a caller may write into a memory, when it is made and later."""

    title = serializers.CharField(max_length=500, required=False, allow_blank=True)
    value = serializers.JSONField(required=False, allow_null=True)
    goal = serializers.CharField(
        max_length=PART, required=False, allow_blank=True, allow_null=True
    )
    result = serializers.CharField(
        max_length=PART, required=False, allow_blank=True, allow_null=True
    )
    feedback = serializers.CharField(
        max_length=PART, required=False, allow_blank=True, allow_null=True
    )
    tool_usage = serializers.ListField(
        child=serializers.DictField(), max_length=500, required=False
    )
    steps = serializers.ListField(
        child=serializers.CharField(max_length=5000), max_length=500, required=False
    )
    outcome = serializers.CharField(
        max_length=PART, required=False, allow_blank=True, allow_null=True
    )
    lessons = serializers.CharField(
        max_length=PART, required=False, allow_blank=True, allow_null=True
    )
    tags = TagsField(required=False)
    file_paths = serializers.ListField(
        child=PathField(), max_length=LINKS, required=False
    )
    metadata = serializers.DictField(required=False)
    sensitivity = serializers.ChoiceField(
        choices=Memory.Sensitivity.choices, required=False
    )
    confidence = serializers.FloatField(
        min_value=0, max_value=1, required=False, allow_null=True
    )
    occurred_at = serializers.DateTimeField(required=False, allow_null=True)
    expires_at = serializers.DateTimeField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        # A null text means an empty one; a null date or value means none.
        for name in ("goal", "result", "feedback", "outcome", "lessons"):
            if name in attrs and attrs[name] is None:
                attrs[name] = ""
        return attrs


class MemoryFields(MemoryTextFields):
    content = serializers.CharField(max_length=CONTENT, trim_whitespace=False)
    memory_type = serializers.ChoiceField(choices=Memory.Type.choices, required=False)
    kind = serializers.ChoiceField(choices=Memory.Kind.choices, default="note")
    agent_id = serializers.CharField(max_length=255, required=False, allow_blank=True)
    user_id = serializers.CharField(max_length=255, required=False, allow_blank=True)
    key = serializers.CharField(max_length=255, required=False, allow_blank=True)
    files = FileRefSerializer(many=True, required=False)
    scope = ScopeSerializer(required=False, allow_null=True)
    source = serializers.ChoiceField(  # type: ignore[assignment]  # the API's name
        choices=Memory.Source.choices, default="agent"
    )
    created_in_session_id = serializers.CharField(
        max_length=255, required=False, allow_blank=True
    )
    provenance = serializers.DictField(required=False)

    def validate_content(self, value: str) -> str:
        if not value.strip():
            raise serializers.ValidationError("This field may not be blank.")
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if attrs["kind"] in ("note", "procedure") and not attrs.get("memory_type"):
            known = ", ".join(Memory.Type.values)
            raise serializers.ValidationError(
                {"memory_type": [f"This field is required; it must be one of {known}."]}
            )
        if len(attrs.get("files", [])) + len(attrs.get("file_paths", [])) > LINKS:
            raise serializers.ValidationError(
                {"files": [f"A memory links to {LINKS} files at most."]}
            )
        return attrs


class CreateMemory(InProject, MemoryFields):
    """`CreateMemoryRequest` of requirement 003, and what the other seeds add."""


class MemoryInBatch(MemoryFields):
    project_id = serializers.CharField(max_length=255, required=False)


class CreateMemories(InProject):
    memories = serializers.ListField(
        child=serializers.DictField(), min_length=1, max_length=500
    )


class UpdateMemory(MemoryTextFields):
    """Fields that may change; any other one is refused as immutable."""

    content = serializers.CharField(
        max_length=CONTENT, required=False, trim_whitespace=False
    )
    memory_type = serializers.ChoiceField(choices=Memory.Type.choices, required=False)
    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False)


def file_refs(data: dict[str, Any]) -> tuple[FileRef, ...]:
    plain = [FileRef(path) for path in data.get("file_paths", [])]
    linked = [
        FileRef(
            ref["file_path"],
            ref["relation_type"],
            ref.get("line_start"),
            ref.get("line_end"),
            ref["content_hash"],
        )
        for ref in data.get("files", [])
    ]
    # A file that is linked in detail needs no plain reference beside it.
    detailed = {ref.path for ref in linked}
    return (*linked, *(ref for ref in plain if ref.path not in detailed))


class FileLink(serializers.Serializer[Any]):
    """A file of a memory; `suspect_since`: it has changed since, not yet confirmed."""

    file_id = serializers.UUIDField()
    file_path = serializers.CharField(source="file.file_path")
    relation_type = serializers.CharField()
    line_start = serializers.IntegerField(allow_null=True)
    line_end = serializers.IntegerField(allow_null=True)
    suspect_since = serializers.DateTimeField(allow_null=True)


class MemoryOut(serializers.ModelSerializer[Memory]):
    """A memory in full, without its vector."""

    project_id = serializers.UUIDField(read_only=True)
    scope = serializers.DictField(child=serializers.CharField(), read_only=True)
    files = FileLink(source="file_links", many=True, read_only=True)
    duplicate_of = serializers.UUIDField(
        source="duplicate_of_id", read_only=True, allow_null=True
    )
    superseded_by = serializers.UUIDField(
        source="superseded_by_id", read_only=True, allow_null=True
    )

    class Meta:
        model = Memory
        fields: tuple[str, ...] = (
            "id",
            "project_id",
            "organization_id",
            "agent_id",
            "user_id",
            "memory_type",
            "kind",
            "title",
            "key",
            "value",
            "content",
            "goal",
            "result",
            "feedback",
            "tool_usage",
            "steps",
            "outcome",
            "lessons",
            "tags",
            "files",
            "metadata",
            "scope",
            "sensitivity",
            "confidence",
            "source",
            "promoted_from",
            "compacted_from",
            "created_in_session_id",
            "provenance",
            "similarity_hash",
            "is_duplicate",
            "duplicate_of",
            "superseded_by",
            "created_at",
            "updated_at",
            "occurred_at",
            "expires_at",
            "verified_at",
            "archived_at",
            "version",
        )
        read_only_fields: tuple[str, ...] = fields


class LineageOut(serializers.Serializer[Any]):
    duplicates = serializers.ListField(child=serializers.UUIDField())
    supersedes = serializers.ListField(child=serializers.UUIDField())
    promoted_to = serializers.ListField(child=serializers.UUIDField())
    compacted_into = serializers.ListField(child=serializers.UUIDField())


class MemoryDetail(MemoryOut):
    lineage = serializers.SerializerMethodField()
    searchable = serializers.SerializerMethodField()

    class Meta(MemoryOut.Meta):
        fields = (*MemoryOut.Meta.fields, "lineage", "searchable")
        read_only_fields = fields

    def get_lineage(self, memory: Memory) -> dict[str, Any]:
        lineage: dict[str, Any] = self.context["lineage"]
        return lineage

    def get_searchable(self, memory: Memory) -> dict[str, bool]:
        is_found = not memory.is_duplicate and memory.superseded_by_id is None
        return {
            "keyword": is_found,
            "semantic": is_found and memory.embedding is not None,
        }


class PossibleDuplicateBrief(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="memory.pk")
    similarity = serializers.FloatField()
    why_not_merged = serializers.CharField()


class Searchable(serializers.Serializer[Any]):
    keyword = serializers.BooleanField()
    semantic = serializers.BooleanField()


class ReceiptOut(serializers.Serializer[Any]):
    """What became of a write."""

    id = serializers.UUIDField(source="memory.pk", default=None, allow_null=True)
    status = serializers.ChoiceField(
        choices=["stored", "duplicate", "superseded_key", "waiting", "rejected"]
    )
    duplicate_of = serializers.UUIDField(
        source="duplicate_of.pk", default=None, allow_null=True
    )
    possible_duplicates = PossibleDuplicateBrief(many=True)
    searchable = serializers.SerializerMethodField()
    notes = serializers.ListField(child=serializers.CharField())
    memory = MemoryOut(allow_null=True)

    def get_searchable(self, receipt: writing.Receipt) -> dict[str, bool]:
        return writing.searchable(receipt)


class BatchItemOut(ReceiptOut):
    status_code = serializers.IntegerField()
    problem = serializers.DictField(required=False)


class BatchOut(serializers.Serializer[Any]):
    results = BatchItemOut(many=True)


class FilterFields(serializers.Serializer[Any]):
    """The filters of REQ-MEM-SEARCH-005 and of the scopes, flat in the request."""

    memory_types = serializers.ListField(
        child=serializers.ChoiceField(choices=Memory.Type.choices), required=False
    )
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=Memory.Kind.choices), required=False
    )
    tags = TagsField(required=False)
    tags_match = serializers.ChoiceField(choices=["all", "any"], default="all")
    file_paths = serializers.ListField(
        child=PathField(), max_length=100, required=False
    )
    agent_ids = serializers.ListField(
        child=serializers.CharField(max_length=255), max_length=100, required=False
    )
    date_from = serializers.DateTimeField(required=False, allow_null=True)
    date_to = serializers.DateTimeField(required=False, allow_null=True)
    scope = ScopeSerializer(required=False, allow_null=True)
    sensitivities = serializers.ListField(
        child=serializers.ChoiceField(choices=Memory.Sensitivity.choices),
        required=False,
    )
    include_duplicates = serializers.BooleanField(default=False)


def filters_of(data: dict[str, Any]) -> Filters:
    return Filters(
        memory_types=tuple(data.get("memory_types", ())),
        kinds=tuple(data.get("kinds", ())),
        tags=tuple(data.get("tags", ())),
        tags_match=data.get("tags_match", "all"),
        file_paths=tuple(data.get("file_paths", ())),
        agent_ids=tuple(data.get("agent_ids", ())),
        date_from=data.get("date_from"),
        date_to=data.get("date_to"),
        include_duplicates=data.get("include_duplicates", False),
        sensitivities=tuple(data.get("sensitivities", ())),
    )


class WeightsSerializer(serializers.Serializer[Any]):
    keyword = serializers.FloatField(min_value=0, max_value=1, default=0.5)
    semantic = serializers.FloatField(min_value=0, max_value=1, default=0.5)


class SearchRequest(InProject, FilterFields):
    query = serializers.CharField(max_length=10_000)
    mode = serializers.ChoiceField(
        choices=["hybrid", "semantic", "keyword"], default="hybrid"
    )
    limit = serializers.IntegerField(min_value=1, max_value=100, default=10)
    min_score = serializers.FloatField(required=False, allow_null=True)
    fusion = serializers.ChoiceField(choices=["relative", "rrf"], required=False)
    weights = WeightsSerializer(required=False)
    explain = serializers.BooleanField(default=False)


class LaneOut(serializers.Serializer[Any]):
    rank = serializers.IntegerField()
    score = serializers.FloatField()


class HitOut(serializers.Serializer[Any]):
    memory = MemoryOut()
    score = serializers.FloatField()
    lanes = serializers.DictField(child=LaneOut())
    snippet = serializers.CharField()
    files = FileLink(source="memory.file_links", many=True)


class SearchAnswer(serializers.Serializer[Any]):
    hits = HitOut(many=True)
    took_ms = serializers.FloatField()
    mode = serializers.CharField()
    notes = serializers.ListField(child=serializers.CharField())
    explanation = serializers.DictField(required=False, allow_null=True)


class CommaList(serializers.ListField):
    """A list in a query string: repeated, or separated by commas."""

    def to_internal_value(self, data: Any) -> list[Any]:
        parts = data if isinstance(data, list) else [data]
        split = [part for item in parts for part in str(item).split(",") if part]
        value: list[Any] = super().to_internal_value(split)
        return value


class RetrieveQuery(InProject):
    """Query parameters of a structured read; scope is `scope=user&user_id=u1`."""

    scope = serializers.ChoiceField(choices=Memory.Scope.choices, required=False)
    session_id = serializers.CharField(max_length=255, required=False)
    user_id = serializers.CharField(max_length=255, required=False)
    workspace_id = serializers.CharField(max_length=255, required=False)
    org_id = serializers.CharField(max_length=255, required=False)
    object_type = serializers.CharField(max_length=255, required=False)
    object_id = serializers.CharField(max_length=255, required=False)
    include_narrower = serializers.BooleanField(default=False)
    tags = CommaList(child=serializers.CharField(max_length=TAG), required=False)
    tags_match = serializers.ChoiceField(choices=["all", "any"], default="all")
    since = serializers.DateTimeField(required=False)
    kinds = CommaList(
        child=serializers.ChoiceField(choices=Memory.Kind.choices), required=False
    )
    memory_types = CommaList(
        child=serializers.ChoiceField(choices=Memory.Type.choices), required=False
    )
    agent_id = serializers.CharField(max_length=255, required=False)
    file_paths = CommaList(child=PathField(), required=False)
    sensitivities = CommaList(
        child=serializers.ChoiceField(choices=Memory.Sensitivity.choices),
        required=False,
    )
    include_duplicates = serializers.BooleanField(default=False)
    order = serializers.ChoiceField(choices=["newest", "oldest"], default="newest")
    cursor = serializers.CharField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        named = {key: attrs[key] for key in KEYS.values() if key in attrs}
        if kind := attrs.get("scope"):
            # A session may name its user, too.
            own = {KEYS[kind], *(["user_id"] if kind == "session" else [])}
            value = {"kind": kind} | {key: named[key] for key in named if key in own}
            if "object_type" in attrs:
                value["object_type"] = attrs["object_type"]
            form = ScopeSerializer(data=value)
            form.is_valid(raise_exception=True)
            attrs["scope"] = form.validated_data
        return attrs


class MemoryChangeOut(serializers.ModelSerializer[MemoryChange]):
    class Meta:
        model = MemoryChange
        fields = (
            "id",
            "memory_id",
            "action",
            "actor",
            "agent_id",
            "source",
            "before",
            "after",
            "reason",
            "request_id",
            "at",
        )
        read_only_fields = fields


class Note(serializers.Serializer[Any]):
    note = serializers.CharField(
        max_length=500, required=False, allow_blank=True, default=""
    )


class Supersede(Note):
    by = serializers.UUIDField()


class DeleteByScope(InProject):
    scope = ScopeSerializer()


class Deleted(serializers.Serializer[Any]):
    deleted = serializers.IntegerField()


class PossibleDuplicateOut(serializers.ModelSerializer[PossibleDuplicate]):
    memory = MemoryOut()
    other = MemoryOut()

    class Meta:
        model = PossibleDuplicate
        fields = (
            "id",
            "memory",
            "other",
            "similarity",
            "why_not_merged",
            "state",
            "decided_by",
            "decided_at",
            "note",
            "created_at",
        )
        read_only_fields = fields


class PossibleDuplicateQuery(InProject):
    state = serializers.ChoiceField(
        choices=PossibleDuplicate.State.choices, default="open"
    )


class FileOut(serializers.ModelSerializer[File]):
    project_id = serializers.UUIDField(read_only=True)
    memory_count = serializers.IntegerField(read_only=True)

    class Meta:
        model = File
        fields = (
            "id",
            "project_id",
            "file_path",
            "file_type",
            "last_content_hash",
            "renamed_from",
            "memory_count",
            "first_seen_at",
            "last_seen_at",
        )
        read_only_fields = fields


class FileQuery(InProject):
    path = serializers.CharField(
        max_length=1000, required=False, help_text="A prefix of the paths."
    )


class RenameFile(InProject):
    old_path = PathField()
    new_path = PathField()


class SeenFile(serializers.Serializer[Any]):
    path = PathField()
    hash = serializers.CharField(max_length=128, allow_null=True)


class SyncFiles(InProject):
    files = SeenFile(many=True, max_length=10_000)  # type: ignore[call-arg]  # a list's


class SyncedOut(serializers.Serializer[Any]):
    files = serializers.IntegerField()
    changed = serializers.IntegerField()
    gone = serializers.IntegerField()
    suspect = serializers.IntegerField()


class TagOut(serializers.ModelSerializer[Tag]):
    project_id = serializers.UUIDField(read_only=True)
    usage_count = serializers.IntegerField(read_only=True)

    class Meta:
        model = Tag
        fields = (
            "id",
            "project_id",
            "name",
            "description",
            "category",
            "usage_count",
            "created_at",
        )
        read_only_fields = fields


class UpdateTag(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=TAG, required=False)
    description = serializers.CharField(
        max_length=2000, required=False, allow_blank=True
    )
    category = serializers.CharField(max_length=64, required=False, allow_blank=True)


class CreateTag(InProject, UpdateTag):
    name = serializers.CharField(max_length=TAG)


class TagQuery(InProject):
    category = serializers.CharField(max_length=64, required=False)
    q = serializers.CharField(max_length=64, required=False)


class MergeTag(serializers.Serializer[Any]):
    into = serializers.CharField(max_length=64, help_text="The name or id of a tag.")


class StartDeduplication(InProject):
    threshold = serializers.FloatField(min_value=0.5, max_value=1, required=False)
    apply = serializers.BooleanField(default=False)


class FindingOut(serializers.Serializer[Any]):
    memory_id = serializers.UUIDField()
    original_id = serializers.UUIDField()
    similarity = serializers.FloatField()
    why_not_merged = serializers.CharField()


class FindingsQuery(serializers.Serializer[Any]):
    after = serializers.UUIDField(required=False)
    limit = serializers.IntegerField(min_value=1, max_value=1000, default=1000)


class DeduplicationOut(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    project_id = serializers.UUIDField()
    state = serializers.CharField()
    progress = serializers.DictField()
    threshold = serializers.FloatField()
    apply = serializers.BooleanField()
    result = serializers.DictField()
    error = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    pairs = FindingOut(many=True)
    pairs_after = serializers.UUIDField(allow_null=True)

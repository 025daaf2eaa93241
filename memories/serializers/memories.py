"""Serializers of memories, and of the receipts of writes."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers

from common.api.serializers import PlainSerializer
from memories.models import (
    Memory,
    MemoryChange,
)
from memories.serializers.fields import SOURCE_HELP, ScopeOut
from memories.store.receipt import Receipt


class FileLink(PlainSerializer):
    """A file of a memory.

    `suspect_since` is set when the file changed after it was linked.
    """

    file_id = serializers.UUIDField()
    file_path = serializers.CharField(source="file.file_path")
    relation_type = serializers.CharField()
    line_start = serializers.IntegerField(allow_null=True)
    line_end = serializers.IntegerField(allow_null=True)
    suspect_since = serializers.DateTimeField(allow_null=True)


class MemoryOut(PlainSerializer, serializers.ModelSerializer[Memory]):
    """A memory with all its fields, but without its vector."""

    project_id = serializers.UUIDField(read_only=True)
    scope = ScopeOut()
    metadata = serializers.DictField(
        read_only=True, help_text="The caller's own object."
    )
    provenance = serializers.DictField(
        read_only=True,
        help_text="Where the memory comes from, as the caller says: channel, thread, "
        "conversation, message, tool call and references.",
    )
    compaction = serializers.DictField(
        read_only=True,
        help_text="The record of a compaction: `generation`, `level` and `model` of the "
        "summary, the `cause` if the model failed, and the `provenance` of each source where the sources differ.",
    )
    files = FileLink(source="file_links", many=True, read_only=True)
    duplicate_of = serializers.UUIDField(
        source="duplicate_of_id", read_only=True, allow_null=True
    )
    superseded_by = serializers.UUIDField(
        source="superseded_by_id", read_only=True, allow_null=True
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return the fields; of a list, only those that the request asks for."""
        fields = super().get_fields()
        asked = self.context.get("fields")
        return {name: fields[name] for name in asked} if asked else fields

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
            "compaction",
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
        extra_kwargs: ClassVar = {"source": {"help_text": SOURCE_HELP}}


class MemoriesPage(serializers.Serializer[Any]):
    results = MemoryOut(many=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    missing_ids = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        help_text="Of `ids`: those of which the caller can read no memory.",
    )


class LineageOut(serializers.Serializer[Any]):
    duplicates = serializers.ListField(child=serializers.UUIDField())
    supersedes = serializers.ListField(child=serializers.UUIDField())
    promoted_to = serializers.ListField(child=serializers.UUIDField())
    compacted_into = serializers.ListField(child=serializers.UUIDField())
    sources = serializers.ListField(
        child=serializers.UUIDField(),
        help_text="Every memory that it was made from, directly or indirectly.",
    )


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
        is_current = memory.is_current
        return {
            "keyword": is_current,
            "semantic": is_current and memory.embedding is not None,
        }


class PossibleDuplicateBrief(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="memory.pk")
    similarity = serializers.FloatField()
    why_not_merged = serializers.CharField()


class Searchable(serializers.Serializer[Any]):
    keyword = serializers.BooleanField()
    semantic = serializers.BooleanField()


class ReceiptOut(serializers.Serializer[Any]):
    """The result of a write."""

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

    def get_searchable(self, receipt: Receipt) -> dict[str, bool]:
        return receipt.searchable


class BatchItemOut(ReceiptOut):
    status_code = serializers.IntegerField()
    problem = serializers.DictField(required=False)


class BatchOut(serializers.Serializer[Any]):
    results = BatchItemOut(many=True)
    job_id = serializers.UUIDField(
        allow_null=True,
        help_text="The job that embeds those memories whose receipts say "
        '`"semantic": false`. Null if there are none, and for a key that is bound to a '
        "user, which reads no jobs.",
    )
    waiting = serializers.IntegerField(
        help_text="How many of the memories had no vector yet when the answer was written."
    )


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


class RestoreResultOut(serializers.Serializer[Any]):
    restored = MemoryOut(many=True)


class DeleteCountOut(serializers.Serializer[Any]):
    deleted = serializers.IntegerField()

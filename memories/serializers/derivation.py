"""Input for promoting and compacting memories."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.moments import UpperBound
from common.api.serializers import InProject, NullIsAbsent
from memories.serializers.fields import ScopeSerializer, TagsField
from memories.serializers.memories import MemoryOut
from memories.store.drafts import MAX_CONTENT

SOURCES = 500  # docs/limits.md


class Promote(NullIsAbsent):
    target_scope = ScopeSerializer()
    delete_original = serializers.BooleanField(default=False)
    content = serializers.CharField(
        max_length=MAX_CONTENT, required=False, trim_whitespace=False
    )
    tags = TagsField(required=False)


class Compact(InProject, NullIsAbsent):
    """The memories to compact.

    `content` is the text of the result, even if it is blank. Without `content`,
    `summarize` must be true.
    """

    null_fields = frozenset({"expires_at"})

    source_ids = serializers.ListField(
        child=serializers.UUIDField(), max_length=SOURCES, allow_empty=False
    )
    target_scope = ScopeSerializer(
        required=False, help_text="By default, the scope of the sources."
    )
    content = serializers.CharField(
        max_length=MAX_CONTENT,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
    )
    summarize = serializers.BooleanField(default=False)
    delete_sources = serializers.BooleanField(default=False)
    tags = TagsField(required=False)
    metadata = serializers.DictField(
        required=False, help_text="An object of your own for the result."
    )
    expires_at = UpperBound(
        required=False,
        help_text="Null: the result never expires. Without it, the result expires with "
        "the first of its sources.",
    )
    dry_run = serializers.BooleanField(
        default=False, help_text="Show the result; change nothing."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if ("content" in attrs) == attrs["summarize"]:
            raise serializers.ValidationError(
                {"content": "Send either content or summarize: true."}
            )
        return attrs


class PlannedMemoryOut(MemoryOut):
    """A memory that is not stored."""

    class Meta(MemoryOut.Meta):
        fields = tuple(
            name
            for name in MemoryOut.Meta.fields
            if name not in ("id", "created_at", "updated_at", "version")
        )
        read_only_fields = fields


class CompactionPlanOut(serializers.Serializer[Any]):
    """What a compaction would do.

    `deleted` has the ids of the sources that it would delete.
    """

    dry_run = serializers.BooleanField(default=True)
    status = serializers.ChoiceField(choices=["stored", "superseded_key"])
    notes = serializers.ListField(child=serializers.CharField())
    memory = PlannedMemoryOut()
    deleted = serializers.ListField(child=serializers.UUIDField())

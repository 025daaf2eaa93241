"""Input for promoting and compacting memories."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject
from memories.serializers.fields import ScopeSerializer, TagsField
from memories.store.drafts import MAX_CONTENT

SOURCES = 500  # docs/limits.md


class Promote(serializers.Serializer[Any]):
    target_scope = ScopeSerializer()
    delete_original = serializers.BooleanField(default=False)
    content = serializers.CharField(
        max_length=MAX_CONTENT, required=False, allow_null=True, trim_whitespace=False
    )
    tags = TagsField(required=False, allow_null=True)


class Compact(InProject):
    """The memories to compact.

    `content` is the text of the result. Without `content`, `summarize` must be true.
    """

    source_ids = serializers.ListField(
        child=serializers.UUIDField(), max_length=SOURCES, allow_empty=False
    )
    target_scope = ScopeSerializer(required=False, allow_null=True)
    content = serializers.CharField(
        max_length=MAX_CONTENT, required=False, trim_whitespace=False
    )
    summarize = serializers.BooleanField(default=False)
    delete_sources = serializers.BooleanField(default=False)
    tags = TagsField(required=False, allow_null=True)
    metadata = serializers.DictField(required=False)
    expires_at = serializers.DateTimeField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if ("content" in attrs) == attrs["summarize"]:
            raise serializers.ValidationError(
                {"content": "Send either content or summarize: true."}
            )
        return attrs

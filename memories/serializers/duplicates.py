"""Serializers of possible duplicates, and of the scan that finds them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject, PageQuery
from memories.models import (
    PossibleDuplicate,
)
from memories.serializers.memories import MemoryOut


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


class PossibleDuplicateQuery(InProject, PageQuery):
    state = serializers.ChoiceField(
        choices=PossibleDuplicate.PairState.choices, default="open"
    )


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

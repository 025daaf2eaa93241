"""Compactions by policy, planned and past, and what the quotas are used to."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject, PageQuery
from memories.models import MemoryChange
from memories.retention.compact import COMPACTION_KEY


class CompactionsQuery(InProject, PageQuery):
    pass


class GroupOut(serializers.Serializer[Any]):
    """Memories that would become one."""

    scope = serializers.DictField(child=serializers.CharField(), source="scope.to_dict")
    kind = serializers.CharField()
    sensitivity = serializers.CharField()
    expires_at = serializers.DateTimeField(allow_null=True)
    source_ids = serializers.ListField(child=serializers.UUIDField())


class PlanOut(serializers.Serializer[Any]):
    """`more`: there are further groups, which are not shown."""

    policy = serializers.DictField()
    groups = GroupOut(many=True)
    more = serializers.BooleanField()


class CompactionOut(serializers.ModelSerializer[MemoryChange]):
    """One compaction: what was made, when, by whom or which policy, and from what.

    `is_deleted`: the result is gone, as undoing leaves it.
    """

    compacted_from = serializers.SerializerMethodField()
    made = serializers.SerializerMethodField()
    is_deleted = serializers.BooleanField()

    class Meta:
        model = MemoryChange
        fields = (
            "id",
            "memory_id",
            "at",
            "actor",
            "reason",
            "compacted_from",
            "made",
            "is_deleted",
        )
        read_only_fields = fields

    def get_compacted_from(self, change: MemoryChange) -> list[str]:
        found: list[str] = change.after.get("compacted_from", [])
        return found

    def get_made(self, change: MemoryChange) -> dict[str, Any] | None:
        """The summary's {level, model, generation}; null for the caller's own text."""
        metadata = change.after.get("metadata", {})
        found: dict[str, Any] | None = metadata.get(COMPACTION_KEY)
        return found


class QuotaOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    of = serializers.CharField()
    limit = serializers.IntegerField()
    used = serializers.IntegerField()
    most = serializers.IntegerField()
    is_reached = serializers.BooleanField()
    is_full = serializers.BooleanField()


class UsageOut(serializers.Serializer[Any]):
    quotas = QuotaOut(many=True)

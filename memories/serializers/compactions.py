"""Serializers of planned compactions, past compactions, and the use of quotas."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject, PageQuery
from memories.models import MemoryChange
from memories.retention import compact


class CompactionsQuery(InProject, PageQuery):
    pass


class PlanQuery(InProject):
    prune_after_days = serializers.IntegerField(
        min_value=1,
        max_value=36_500,
        required=False,
        help_text="Show what a pruning after so many days would archive; by default the "
        "setting `agents.prune_after_days`.",
    )


class PrunePlan(serializers.Serializer[Any]):
    """The facts and episodes that no question has found for long."""

    count = serializers.IntegerField(help_text="How many a pass would archive now.")
    ids = serializers.ListField(
        child=serializers.UUIDField(), help_text="The oldest of them, 100 at most."
    )


class GroupOut(serializers.Serializer[Any]):
    """Memories that would be compacted into one."""

    scope = serializers.DictField(child=serializers.CharField(), source="scope.to_dict")
    kind = serializers.CharField()
    sensitivity = serializers.CharField()
    expires_at = serializers.DateTimeField(allow_null=True)
    source_ids = serializers.ListField(child=serializers.UUIDField())


class PlanOut(serializers.Serializer[Any]):
    """The groups of a plan.

    `more` is true if the plan has further groups.
    """

    policy = serializers.DictField()
    groups = GroupOut(many=True)
    more = serializers.BooleanField()
    unrecalled = PrunePlan(
        help_text="What a pruning would archive now; none if it is off."
    )


class CompactionOut(serializers.ModelSerializer[MemoryChange]):
    """One compaction, with its result, its sources, its time and its actor.

    `is_deleted` is true if the result was deleted, for example because the compaction was
    undone.
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
        source_ids: list[str] = change.after.get("compacted_from", [])
        return source_ids

    def get_made(self, change: MemoryChange) -> dict[str, Any] | None:
        """Return the {level, model, generation} of the summary.

        The caller's own text has null.
        """
        record = change.after.get("compaction")
        # Before memories had the field, the record stood in their metadata.
        old = change.after.get("metadata", {}).get("compaction")
        return old if record is None else compact.summary_of(record)


class QuotaOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    of = serializers.CharField()
    limit = serializers.IntegerField()
    used = serializers.IntegerField()
    is_full = serializers.BooleanField()


class UsageOut(serializers.Serializer[Any]):
    quotas = QuotaOut(many=True)

"""What happened to the playbook."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from access.doors import InProject
from playbook import reading
from playbook.models import PlaybookChange
from playbook.revisions import SUPPORTS


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

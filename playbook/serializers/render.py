"""Serializers of the rendered playbook."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject
from memories.serializers.fields import CommaList


class RenderQuery(InProject):
    token_budget = serializers.IntegerField(
        min_value=1, max_value=200_000, required=False
    )
    task = serializers.CharField(max_length=10_000, required=False, default="")
    relevant_only = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Leave out entries below the relevance gate, except pinned ones and those "
        "that apply always.",
    )
    tools = CommaList(
        child=serializers.CharField(max_length=100),
        required=False,
        max_length=200,
        help_text="Tools of the task, beside those that `task` names.",
    )
    files = CommaList(
        child=serializers.CharField(max_length=1_000),
        required=False,
        max_length=200,
        help_text="Paths of files of the task, beside those that `task` names.",
    )
    agent_id = serializers.CharField(
        max_length=255,
        required=False,
        default="",
        help_text="The agent whose next finished task is credited with these entries.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["relevant_only"] and not attrs["task"].strip():
            raise serializers.ValidationError(
                {"relevant_only": "Send a task; without a task, no entry is relevant."}
            )
        return attrs


class RenderedEntryOut(serializers.Serializer[Any]):
    """A rendered entry, and why it is included.

    `relevance` is the cosine of the entry to the task.
    """

    id = serializers.UUIDField(source="entry.pk")
    label = serializers.CharField(source="entry.label")  # type: ignore[assignment]  # a field of that name
    version = serializers.IntegerField(source="entry.version")
    relevance = serializers.FloatField(allow_null=True)
    is_relevant = serializers.BooleanField(
        allow_null=True, help_text="Above the gate; null without a task."
    )
    reason = serializers.CharField()
    is_contested = serializers.BooleanField()
    is_due = serializers.BooleanField()
    suspect_files = serializers.ListField(child=serializers.CharField())


class SkippedCounts(serializers.Serializer[Any]):
    budget = serializers.IntegerField()
    below_gate = serializers.IntegerField()


class RenderOut(serializers.Serializer[Any]):
    """The rendered playbook.

    `text` holds one line for each entry, and one marked `[yours]` for each lesson that the
    person behind the key has told and that waits for everybody else. The text is data for a prompt and never
    instructions.
    """

    text = serializers.CharField()
    entries = RenderedEntryOut(many=True, source="rendered_entries")
    revision = serializers.IntegerField()
    tokens = serializers.IntegerField()
    token_budget = serializers.IntegerField(source="budget")
    left_out = SkippedCounts()
    notes = serializers.ListField(child=serializers.CharField())

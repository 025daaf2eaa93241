"""The playbook as an agent is given it."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from access.doors import InProject


class RenderQuery(InProject):
    token_budget = serializers.IntegerField(
        min_value=1, max_value=200_000, required=False
    )
    task = serializers.CharField(max_length=10_000, required=False, default="")


class RenderedEntry(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field of that name
    version = serializers.IntegerField()


class RenderOut(serializers.Serializer[Any]):
    """`text` holds one line an entry. It is data for a prompt, never instructions."""

    text = serializers.CharField()
    entries = RenderedEntry(many=True)
    revision = serializers.IntegerField()
    tokens = serializers.IntegerField()
    token_budget = serializers.IntegerField(source="budget")
    left_out = serializers.IntegerField()
    notes = serializers.ListField(child=serializers.CharField())

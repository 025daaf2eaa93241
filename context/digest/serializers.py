"""Serializers of digests and of their configuration."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject
from context.models import DigestConfig
from memories.serializers.fields import ScopeSerializer


class DigestRequest(InProject):
    """`scope` adds memories to the memories that everybody in the project shares."""

    agent_id = serializers.CharField(
        max_length=255, required=False, allow_blank=True, default=""
    )
    # A query that a search refuses leaves out that search, and not the digest.
    query = serializers.CharField(required=False, allow_blank=True, default="")
    scope = ScopeSerializer(required=False, allow_null=True)
    scopes = ScopeSerializer(many=True, required=False, max_length=10)  # type: ignore[call-arg]  # the list's
    overrides = serializers.DictField(
        required=False, help_text="A part of a configuration, for this digest only."
    )
    explain = serializers.BooleanField(
        default=False, help_text="List the omitted memories with their reasons."
    )


class IncludedLineOut(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="memory.pk")
    kind = serializers.CharField(source="memory.kind")
    sources = serializers.ListField(child=serializers.CharField())
    scores = serializers.DictField(child=serializers.FloatField())
    rank = serializers.IntegerField()
    cost = serializers.DictField(child=serializers.IntegerField())
    is_cut = serializers.BooleanField()


class OmittedLineOut(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="memory_id")
    kind = serializers.CharField()
    sources = serializers.ListField(child=serializers.CharField())
    rank = serializers.IntegerField()
    reason = serializers.CharField()


class DigestOut(serializers.Serializer[Any]):
    """`text` is quoted data for a prompt, never instructions."""

    text = serializers.CharField()
    included = IncludedLineOut(many=True)
    omitted = OmittedLineOut(many=True)
    counts = serializers.DictField(child=serializers.IntegerField())
    used = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField())
    )
    behind = serializers.DictField(child=serializers.BooleanField())
    notes = serializers.ListField(child=serializers.CharField())


class DigestConfigQuery(InProject):
    agent_id = serializers.CharField(
        max_length=255, required=False, allow_blank=True, default=""
    )


class PutDigestConfig(DigestConfigQuery):
    config = serializers.DictField()
    expected_version = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, required=False
    )


class DigestConfigOut(serializers.ModelSerializer[DigestConfig]):
    """`config` has the settings of a project or of an agent.

    `effective` has the settings that apply after the settings of all levels are merged.
    """

    project_id = serializers.UUIDField(read_only=True)
    config = serializers.DictField(read_only=True)
    effective = serializers.SerializerMethodField()

    class Meta:
        model = DigestConfig
        fields = (
            "project_id",
            "agent_id",
            "config",
            "effective",
            "version",
            "updated_by",
            "updated_at",
        )
        read_only_fields = fields

    def get_effective(self, row: DigestConfig) -> dict[str, Any]:
        options: dict[str, Any] = self.context["effective"].model_dump()
        return options

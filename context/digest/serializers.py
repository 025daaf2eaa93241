"""Serializers of the configuration of digests."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject
from context.models import DigestConfig


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

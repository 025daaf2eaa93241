"""The view of a digest's configuration."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.caller import Role
from context.digest import digest_configs
from context.digest import serializers as forms
from context.models import DigestConfig
from projects.models import Project


class DigestConfigView(ProjectView):
    @extend_schema(
        operation_id="context_digest_config_read",
        parameters=[forms.DigestConfigQuery],
        responses=forms.DigestConfigOut,
    )
    def get(self, request: Request) -> Response:
        """The settings of a project or an agent, and the merged settings that apply."""
        data = self.query(forms.DigestConfigQuery)
        project = self.project(data)
        row = digest_configs.find(project, data["agent_id"], self.caller)
        blank = DigestConfig(project=project, agent_id=data["agent_id"], version=0)
        return Response(self.represent_config(project, row or blank))

    @extend_schema(
        operation_id="context_digest_config_put",
        request=forms.PutDigestConfig,
        responses=forms.DigestConfigOut,
    )
    def put(self, request: Request) -> Response:
        """Replace the settings of a project or an agent; an empty config removes them."""
        data = self.body(forms.PutDigestConfig, row=forms.DigestConfigOut)
        project = self.project(data, Role.CURATOR)
        row = digest_configs.put(
            project,
            data["agent_id"],
            data["config"],
            self.caller,
            version=data.get("expected_version"),
        )
        return Response(self.represent_config(project, row))

    def represent_config(self, project: Project, row: DigestConfig) -> dict[str, Any]:
        holds = digest_configs.effective_options(project, row.agent_id, self.caller)
        return forms.DigestConfigOut(row, context={"effective": holds}).data

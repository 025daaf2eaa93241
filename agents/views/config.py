"""The settings of the agent (`agent-mem`)."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.agent_config import replace_config
from agents.serializers import config as forms
from agents.views.base import AgentView
from common.api.serializers import represent
from common.caller import Role
from projects.models import Project


class AgentConfigView(AgentView):
    required_roles: ClassVar[dict[str, Role]] = {"GET": Role.VIEWER, "PUT": Role.OWNER}

    @extend_schema(
        operation_id="agents_config_read",
        summary="Read the settings of the agent",
        description="The settings `agent-mem` of seed 004 that hold, with every default.",
        parameters=[forms.AgentConfigQuery],
        responses=forms.AgentConfigOut,
    )
    def get(self, request: Request) -> Response:
        return self.answer(self.project(self.query(forms.AgentConfigQuery)))

    @extend_schema(
        operation_id="agents_config_put",
        summary="Replace the settings of the agent",
        description="A setting that is left out, or null, returns to its default. The "
        "settings are the section `agents` of the project's settings, and changes are "
        "audited as those are.",
        request=forms.PutAgentConfig,
        responses=forms.AgentConfigOut,
        examples=[
            OpenApiExample(
                "More steps, and function calling",
                request_only=True,
                value={
                    "collection": "docs",
                    "max-iterations": 20,
                    "protocol": "tools",
                },
            )
        ],
    )
    def put(self, request: Request) -> Response:
        data = self.body(forms.PutAgentConfig)
        project = self.project(data)
        names = {name: data.get(name) for name in forms.HELP}
        return self.answer(replace_config(project, names, self.caller))

    def answer(self, project: Project) -> Response:
        shown = project.options.agents.model_dump(include=set(forms.HELP))
        value = {**shown, "project_id": project.pk, "error": None}
        return Response(represent(forms.AgentConfigOut, value))

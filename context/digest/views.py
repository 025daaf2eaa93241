"""Views of the digest and of its configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common import replicas
from common.api.serializers import represent
from common.caller import Role
from context.digest import assemble, digest_configs
from context.digest import serializers as forms
from context.models import DigestConfig
from memories import scopes
from projects.models import Project


class DigestView(ProjectView):
    idempotent_methods: ClassVar[frozenset[str]] = frozenset()  # it only reads

    @extend_schema(
        operation_id="context_digest",
        request=forms.DigestRequest,
        responses=forms.DigestOut,
    )
    def post(self, request: Request) -> Response:
        """The digest of an agent before a turn, within its budgets."""
        data = self.body(forms.DigestRequest)
        project = self.project(data, Role.VIEWER)
        named = [*filter(None, [data.get("scope")]), *data.get("scopes", ())]
        digest = replicas.read_from_replica(
            lambda: assemble.for_agent(
                project,
                self.caller,
                agent_id=data["agent_id"] or self.caller.agent_id,
                query=data["query"],
                scopes=[scopes.resolve(one, project, self.caller) for one in named],
                overrides=data.get("overrides"),
            )
        )
        answer = digest if data["explain"] else replace(digest, omitted=[])
        return Response(represent(forms.DigestOut, answer))


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

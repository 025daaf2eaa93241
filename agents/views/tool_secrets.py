"""Views of the secrets of tools: stored, described, deleted, and never read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.serializers import tools as forms
from agents.tools import secrets
from agents.views.base import AgentView
from common.caller import Role


class ToolSecretView(AgentView):
    query_methods: ClassVar[frozenset[str]] = frozenset({"GET", "DELETE"})
    # Otherwise the value would be masked like any secret in a body.
    self_guarded: ClassVar[frozenset[str]] = frozenset({"value"})
    path_help: ClassVar[Mapping[str, str]] = {"name": "The name of the secret."}
    required_roles: ClassVar[dict[str, Role]] = {
        "GET": Role.OWNER,
        "PUT": Role.OWNER,
        "DELETE": Role.OWNER,
    }

    @extend_schema(
        operation_id="agents_secrets_read",
        summary="Read which tools use a secret, and whether it is readable",
        parameters=[forms.InToolProject],
        responses=forms.ToolSecretOut,
    )
    def get(self, request: Request, name: str) -> Response:
        """Only owners. The value is never in an answer."""
        project = self.project(self.query(forms.InToolProject))
        secret = secrets.find_secret(project, name, self.caller)
        return Response(forms.ToolSecretOut(secrets.describe_secret(secret)).data)

    @extend_schema(
        operation_id="agents_secrets_put",
        summary="Store or replace a secret of tools",
        request=forms.PutSecret,
        responses=forms.ToolSecretOut,
        examples=[
            OpenApiExample(
                "The key of a service",
                value={"project_id": "docs", "value": "the key that the service gave"},
                request_only=True,
            )
        ],
    )
    def put(self, request: Request, name: str) -> Response:
        """Only owners. The value is encrypted with a key that follows from SECRET_KEY."""
        data = self.body(forms.PutSecret)
        project = self.project(data)
        status = secrets.put_secret(project, name, data["value"], self.caller)
        return Response(forms.ToolSecretOut(status).data)

    @extend_schema(
        operation_id="agents_secrets_delete",
        summary="Delete a secret of tools",
        parameters=[forms.InToolProject],
        responses={204: None},
    )
    def delete(self, request: Request, name: str) -> Response:
        """Only owners. Tools that name it fail until it is stored again."""
        project = self.project(self.query(forms.InToolProject))
        secrets.delete_secret(project, name, self.caller)
        return Response(status=204)

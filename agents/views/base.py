"""The view base of the routes of seed 004: every answer has `error`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from agents.serializers.in_collection import NAMES, project_name
from common.api import problem
from common.caller import Role
from projects.models import Project


class AgentView(ProjectView):
    """Add `error` to each answer: null, or `{type, message}` in a problem.

    An answer that has its own `error` keeps it. `collection` is another name of the project.
    """

    has_error_member = True  # problem.names_error

    def project(self, data: Mapping[str, Any], role: Role | None = None) -> Project:
        """Return the project that `collection` or `project_id` names."""
        return super().project({"project_id": project_name(data)}, role)

    def _secret_mode(self, data: Mapping[str, Any]) -> str:
        named = next((data[name] for name in NAMES if data.get(name)), None)
        return super()._secret_mode({"project_id": named})

    def handle_exception(self, exc: Exception) -> HttpResponseBase:  # type: ignore[override]  # a problem is no DRF response
        refusal = problem.refusal_for(exc)
        if refusal is None:
            return super().handle_exception(exc)
        return super().handle_exception(problem.add_error_member(refusal))

    def finalize_response(  # type: ignore[override]  # as above
        self,
        request: Request | HttpRequest,
        response: HttpResponseBase,
        *args: Any,
        **kwargs: Any,
    ) -> HttpResponseBase:
        if isinstance(response, Response) and isinstance(response.data, Mapping):
            response.data = {**response.data, "error": response.data.get("error")}
        return super().finalize_response(request, response, *args, **kwargs)

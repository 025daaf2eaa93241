"""Views of the hooks of coding agents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common import errors
from common.api.views import EVERY_FIELD
from common.caller import Role
from mcp_server.hooks import event_answer, hook_counts
from mcp_server.hooks import serializers as forms
from projects.models import Project

MAX_BODY = 1024 * 1024  # bytes of one event
GIVEN_FILES = "X-Given-Files"


class HookProjectView(ProjectView):
    """A view whose project is the one of the key, unless the request names another."""

    def project_of(self, data: Mapping[str, Any]) -> Project:
        named = data.get("project_id") or self.caller.only_project
        return self.project({**data, "project_id": named}, Role.VIEWER)


class HookView(HookProjectView):
    """The answer is the harness's own JSON, and some harnesses refuse another field in it."""

    # Each event is another one, and what it gives is given once.
    idempotent_methods: ClassVar[frozenset[str]] = frozenset()
    query_methods: ClassVar[frozenset[str]] = frozenset({"POST"})
    # Nothing of an event is stored but digests and names of events.
    self_guarded: ClassVar[frozenset[str]] = EVERY_FIELD
    path_help: ClassVar[Mapping[str, str]] = {
        "harness": "`claude-code`, `codex`, `copilot`, `gemini`, `opencode` or `cursor`."
    }

    def add_notes(self, response: HttpResponseBase) -> None:
        """Add no notes to the answer of an event."""

    @extend_schema(
        operation_id="hooks_call",
        parameters=[forms.HookQuery],
        request=OpenApiTypes.OBJECT,
        responses={
            200: OpenApiResponse(
                OpenApiTypes.OBJECT,
                description="What the harness reads on the standard output of a hook; "
                f"`{{}}` gives nothing. The header `{GIVEN_FILES}` lists the files that the "
                "given lines are anchored to.",
            )
        },
    )
    def post(self, request: Request, harness: str) -> Response:
        """Report an event of a coding agent's session, and get what the agent is given."""
        if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BODY:
            raise errors.TooLarge("An event of a hook is at most 1 MiB.")
        data = self.query(forms.HookQuery)
        project = self.project_of(data)
        payload = request.data
        if not isinstance(payload, dict):
            raise errors.Invalid("An event is a JSON object.")
        given = event_answer.handle(
            self.caller,
            project,
            harness,
            payload,
            named=data["event"],
            opens_session=data["opens_session"],
            server=request.build_absolute_uri("/"),
        )
        headers = {GIVEN_FILES: json.dumps(given.files)} if given.files else None
        return Response(given.body, headers=headers)


class HookStatusView(HookProjectView):
    @extend_schema(
        operation_id="hooks_status",
        parameters=[forms.StatusQuery],
        responses=forms.HookStatusOut(many=True),
    )
    def get(self, request: Request) -> Response:
        """The last event of each key and harness, and how many came of each kind."""
        project = self.project_of(self.query(forms.StatusQuery))
        rows = hook_counts.find_status(project, self.caller)
        return Response(forms.HookStatusOut(rows, many=True).data)

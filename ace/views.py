"""Views that complete a task, and that list, show and resume runs."""

from __future__ import annotations

import re
import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from ace import feedback_source
from ace import run as runs
from ace import serializers as forms
from ace.lessons import reflections
from ace.models import AceRun
from common import errors
from common.api.serializers import page_of
from common.api.views import EVERY_FIELD
from common.caller import Role
from memories import scopes

MAX_BODY = 1024 * 1024  # bytes of one finished task
_WAIT = re.compile(r"\bwait=(\d{1,4})\b")  # of the header Prefer, in seconds


class CompleteTaskView(ProjectView):
    self_guarded: ClassVar[frozenset[str]] = EVERY_FIELD

    @extend_schema(
        operation_id="complete_task",
        request=forms.CompleteTask,
        responses={200: forms.AceResult, 202: forms.AceResult},
        parameters=[
            OpenApiParameter(
                "Prefer",
                str,
                OpenApiParameter.HEADER,
                description="`respond-async`: answer 202 once the memory is stored. "
                "`wait=30`: wait so many seconds for a language model's reflection.",
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Report a finished task: store a memory, and propose changes to the playbook."""
        if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BODY:
            raise errors.TooLarge(
                "A finished task is at most 1 MiB; shorten the results."
            )
        data = self.body(forms.CompleteTask)
        project = self.project(data)
        task = feedback_source.accept(data, project, self.caller)
        wish = request.headers.get("Prefer", "")
        wait = "respond-async" not in wish
        identity = self.request_identity(project.pk)
        run = runs.complete(
            project,
            task,
            self.caller,
            scope=scopes.resolve_for_task(data.get("scope"), project, self.caller),
            identity=identity,
            wait=wait,
        )
        if run.state == AceRun.RunState.RUNNING and not wait:
            location = request.build_absolute_uri(f"/api/v1/runs/{run.pk}")
            return Response(run.ace_result, 202, headers={"Location": location})
        if seconds := _WAIT.search(wish):
            reflections.wait_for(run, int(seconds[1]))
        return Response(run.ace_result)


class AceRunsView(ProjectView):
    @extend_schema(
        operation_id="runs_list",
        parameters=[forms.RunQuery],
        responses=page_of(forms.RunOut),
    )
    def get(self, request: Request) -> Response:
        """Runs of a project, newest first."""
        data = self.query(forms.RunQuery)
        project = self.project(data)
        rows = AceRun.objects.visible_to(self.caller).filter(project=project)
        filters: dict[str, Any] = {
            "state": data.get("state"),
            "agent_id": data.get("agent_id"),
            "created_at__gte": data.get("date_from"),
            "created_at__lte": data.get("date_to"),
        }
        rows = rows.filter(**{k: v for k, v in filters.items() if v is not None})
        return self.page(rows.defer("request", "result"), forms.RunOut)


class AceRunView(ProjectView):
    query_methods: ClassVar[frozenset[str]] = frozenset()

    @extend_schema(operation_id="runs_read", responses=forms.RunDetail)
    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        """A run with its request, its result and its reflection."""
        return Response(forms.RunDetail(find_run(run_id, self)).data)


class ResumeRunView(ProjectView):
    body_methods: ClassVar[frozenset[str]] = frozenset()

    @extend_schema(operation_id="runs_resume", request=None, responses=forms.AceResult)
    def post(self, request: Request, run_id: uuid.UUID) -> Response:
        """Finish a run whose process died or whose phase failed."""
        run = find_run(run_id, self)
        identity = self.request_identity(run.project_id)
        resumed = runs.resume(run, self.caller, identity=identity)
        return Response(resumed.ace_result)


def find_run(run_id: uuid.UUID, view: ProjectView) -> AceRun:
    rows = AceRun.objects.visible_to(view.caller).select_related("project")
    run = rows.filter(pk=run_id).first()
    if run is None:
        raise errors.NotFound
    view.caller.require(
        Role.VIEWER if view.request.method == "GET" else Role.WRITER, run.project_id
    )
    found: AceRun = run
    return found

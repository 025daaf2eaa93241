from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.generic import View

from common.admin import panels
from common.admin.model_admin import caller_of
from common.admin.panels import Panel, list_link, short_text, time_tag
from common.caller import Role
from console.jobs import schedules
from console.project_page import ProjectPage
from inference.embedding import reembed
from inference.embedding.reembed import ModelChange
from inference.errors import InferenceError


class SchedulesPage(ProjectPage):
    """The schedules of the whole installation, for its owners only."""

    title = "Schedules"
    template = "console/jobs/schedules.html"

    def dispatch(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        self.caller = caller_of(request)
        self.names = {}  # the page belongs to no project, so there is none to choose
        if self.caller.everywhere != Role.OWNER:
            raise PermissionDenied
        return View.dispatch(self, request, *args, **kwargs)

    def get(self, request: HttpRequest) -> HttpResponse:
        at = schedules.heartbeats()
        return self.show(
            panels=[_schedules_panel(at), _successes_panel(at)],
            model_change=_model_change(),
        )

    def post(self, request: HttpRequest) -> HttpResponse:
        """Start the change to the configured embedding model."""
        job = reembed.start(self.caller)
        messages.success(request, f"The change of the model is job {job.pk}.")
        return redirect("console:schedules")


def _model_change() -> ModelChange | None:
    """Return the change of the model; None if the settings name no model that works."""
    try:
        return reembed.describe_change()
    except InferenceError:
        return None


def _schedules_panel(at: Any) -> Panel:
    return panels.table(
        "Scheduled tasks",
        ["Schedule", "Runs", "State", "Last success", "Task"],
        (
            [
                short_text(one.name, 60),
                one.period,
                _state_cell(one.state),
                time_tag(one.last),
                short_text(one.task, 60),
            ]
            for one in schedules.list_schedules(at)
        ),
        most=100,
    )


def _state_cell(state: str) -> SafeString:
    name = "am-late" if state == schedules.LATE else ""
    return format_html('<span class="{}">{}</span>', name, state)


def _successes_panel(at: Any) -> Panel:
    return panels.table(
        "Job kinds",
        ["Kind", "Last success"],
        (
            [list_link("jobs_job", f"kind={kind}", kind), time_tag(last)]
            for kind, last in schedules.last_successes(at)
        ),
        empty="No job has succeeded yet: is a worker running?",
        most=100,
    )

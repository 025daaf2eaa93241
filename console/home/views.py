from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse

from common.admin.panels import Panel
from common.caller import Caller, Role
from console import week_figures, weeks
from console.home import (
    first_steps,
    flagged_entries,
    key_figures,
    recent_work,
    week_charts,
)
from console.home.owner_panels import OWNER_PANELS
from console.project_page import ProjectPage
from console.week_figures import WeekFigures
from projects.models import Project


def _week_figures(project: Project, caller: Caller) -> WeekFigures:
    return week_figures.count(project, weeks.last_weeks(1)[0], caller)


class HomePage(ProjectPage):
    """A project's figures, and the work that needs a person's attention."""

    title = "Home"
    template = "console/home/home.html"
    style = "console/home.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        scope = self.project, self.caller
        charts = week_charts.build(*scope)
        is_new = all(chart.is_empty for chart in charts)
        panels = [
            *flagged_entries.build_panels(*scope),
            *recent_work.build_panels(*scope),
        ]
        shows_steps = is_new or first_steps.is_young(self.project)
        return self.show(
            figures=list(key_figures.build(*scope)),
            charts=[] if is_new else charts,
            steps=first_steps.find(*scope) if shows_steps else None,
            owns=self.may(Role.OWNER),
            complete_task=request.build_absolute_uri("/api/v1/complete-task"),
            context_task=request.build_absolute_uri("/api/v1/context"),
            week=_week_figures(*scope),
            weekly_url=f"{reverse('console:weekly')}?project={self.project.pk}",
            panels=[
                *(panel for panel in panels if panel.rows or not is_new),
                *self.installation_panels(),
            ],
        )

    def no_project(self) -> HttpResponseBase:
        """Tell a person without a project how to begin.

        A URL that names an unknown project still answers 404.
        """
        if self.names or self.request.GET.get("project"):
            return super().no_project()
        return self.render(
            "console/home/beginning.html",
            owns_all=self.caller.everywhere == Role.OWNER,
            panels=self.installation_panels(),
        )

    def installation_panels(self) -> list[Panel]:
        owns_all = self.caller.everywhere == Role.OWNER
        return [panel() for panel in OWNER_PANELS] if owns_all else []

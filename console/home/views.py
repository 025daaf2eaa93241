from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from common.admin.panels import Panel
from common.caller import Role
from console.home import (
    acceptance_rate,
    flagged_entries,
    key_figures,
    memory_growth,
    playbook_growth,
    recent_work,
    success_rate,
)
from console.home.owner_panels import OWNER_PANELS
from console.project_page import ProjectPage


class HomePage(ProjectPage):
    """How a project is doing, and what wants a person's attention."""

    title = "Home"
    template = "console/home/home.html"
    style = "console/home.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        about = self.project, self.caller
        charts = [
            of.chart(*about)
            for of in (memory_growth, playbook_growth, success_rate, acceptance_rate)
        ]
        is_new = all(chart.is_empty for chart in charts)
        panels = [
            *flagged_entries.build_panels(*about),
            *recent_work.build_panels(*about),
        ]
        return self.show(
            cards=list(key_figures.build(*about)),
            charts=[] if is_new else charts,
            is_new=is_new,
            owns=self.may(Role.OWNER),
            complete_task=request.build_absolute_uri("/api/v1/complete-task"),
            panels=[
                *(panel for panel in panels if panel.rows or not is_new),
                *self.of_the_installation(),
            ],
        )

    def no_project(self) -> HttpResponseBase:
        """What to do next; an address that names a wrong project stays a 404."""
        if self.names or self.request.GET.get("project"):
            return super().no_project()
        return self.render(
            "console/home/beginning.html",
            owns_all=self.caller.everywhere == Role.OWNER,
            panels=self.of_the_installation(),
        )

    def of_the_installation(self) -> list[Panel]:
        owns_all = self.caller.everywhere == Role.OWNER
        return [panel() for panel in OWNER_PANELS] if owns_all else []

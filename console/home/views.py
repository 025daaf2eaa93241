from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from common.caller import Role
from common.panels import Panel
from console.home import acceptance, cards, entries, growth, stored, success, work
from console.home.further import FURTHER
from console.pages import ProjectPage


class Home(ProjectPage):
    """How a project is doing, and what wants a person's attention."""

    title = "Home"
    template = "console/home/home.html"
    style = "console/home.css"

    def get(self, request: HttpRequest) -> HttpResponse:
        about = self.project, self.caller
        charts = [of.chart(*about) for of in (stored, growth, success, acceptance)]
        is_new = all(chart.is_empty for chart in charts)
        panels = [*entries.of(*about), *work.of(*about)]
        return self.show(
            cards=list(cards.of(*about)),
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
        return [panel() for panel in FURTHER] if owns_all else []

"""The base of the console's pages: one project at a time, chosen in the address."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.generic import View

from common.admin.model_admin import caller_of
from common.caller import Caller, Role
from projects.models import Project

SESSION_KEY = "console_project"  # in the session: the project that was looked at last


class ProjectPage(View):
    """A page about one project, for people who hold `role` in it.

    The project is `?project=ID`, else the one looked at last, else the first by name.
    Another's project, or none, is the page that says so.
    """

    role = Role.VIEWER
    title = ""
    template = ""
    style = ""  # its style sheet, beside the console's
    switches_to = ""  # the route that another project is shown at; empty is this page

    request: HttpRequest
    caller: Caller
    project: Project

    def dispatch(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        self.caller = caller_of(request)
        self.names = projects_for(request, self.role)
        chosen = _chosen_project(request, self.names)
        if chosen is None:
            return self.no_project()
        self.project = (
            Project.objects.visible_to(self.caller)
            .select_related("organization")
            .get(pk=chosen)
        )
        if request.session.get(SESSION_KEY) != str(chosen):
            request.session[SESSION_KEY] = str(chosen)
        return super().dispatch(request, *args, **kwargs)

    def no_project(self) -> HttpResponseBase:
        return self.render("console/no_project.html", status=404)

    def may(self, role: Role) -> bool:
        return self.caller.may(role, self.project.pk)

    def require(self, role: Role) -> None:
        if not self.may(role):
            raise PermissionDenied

    def show(self, *, status: int = 200, **context: Any) -> HttpResponse:
        """The page's template, within the theme."""
        return self.render(self.template, status=status, **context)

    def render(
        self, template: str, *, status: int = 200, **context: Any
    ) -> TemplateResponse:
        shell = {
            **admin.site.each_context(self.request),
            "title": self.title,
            "style": self.style,
            "project": getattr(self, "project", None),
            "switches": self._switches(),
        }
        return TemplateResponse(
            self.request, template, {**shell, **context}, status=status
        )

    def _switches(self) -> list[dict[str, str]]:
        """The projects to change to, with the same filters."""
        page = reverse(self.switches_to) if self.switches_to else ""
        kept = [(k, v) for k, v in self.request.GET.items() if k != "project"]
        return [
            {"name": name, "url": f"{page}?{urlencode([*kept, ('project', str(pk))])}"}
            for pk, name in self.names.items()
        ]


def projects_for(request: HttpRequest, role: Role) -> dict[uuid.UUID, str]:
    """{id: name} of the projects in which the person holds the role, by name."""
    caller = caller_of(request)
    names: dict[uuid.UUID, str] = request.projects  # type: ignore[attr-defined]  # the middleware's
    held = ((pk, name) for pk, name in names.items() if caller.may(role, pk))
    return dict(sorted(held, key=lambda one: (one[1], one[0])))


def _chosen_project(
    request: HttpRequest, names: dict[uuid.UUID, str]
) -> uuid.UUID | None:
    asked = request.GET.get("project") or request.POST.get("project")
    if asked:
        return next((pk for pk in names if str(pk) == asked), None)
    last = request.session.get(SESSION_KEY)
    return next((pk for pk in names if str(pk) == last), next(iter(names), None))


def staff_route(route: str, view: type[View], name: str) -> URLPattern:
    """A route that only people of the staff reach, by the login page."""
    return path(route, admin.site.admin_view(view.as_view()), name=name)

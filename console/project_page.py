"""The base view of the console's pages, which show one project at a time."""

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

from ace.models import AceRun
from common.admin.model_admin import caller_of
from common.caller import Caller, Role
from conversations.models import Session
from mcp_server.models import HookCount
from memories.models import Memory
from projects.models import Project

SESSION_KEY = (
    "console_project"  # The session key of the project that the person opened last.
)
DEMO = "demo"  # the project that the first start makes (embedded/demo.json)


class ProjectPage(View):
    """A page about one project, for people who have `role` in the project.

    The project is the one that `?project=ID` names. Without this parameter, it is the
    project that the person opened last, and otherwise the one in which an agent was at
    work last. If the person may see no project, the page says so.
    """

    role = Role.VIEWER
    title = ""
    template = ""
    style = ""  # a style sheet that the page loads in addition to that of the console
    # The route that opens another project; if empty, this page opens the project.
    switch_route = ""

    request: HttpRequest
    caller: Caller
    project: Project

    def dispatch(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        self.caller = caller_of(request)
        self.names = projects_for(request, self.role)
        project_id = _chosen_project(request, self.names)
        if project_id is None:
            return self.no_project()
        self.project = (
            Project.objects.visible_to(self.caller)
            .select_related("organization")
            .get(pk=project_id)
        )
        request.shown_project = project_id  # type: ignore[attr-defined]  # for the sidebar
        # The demo that opens by itself is no choice: work in another project comes first.
        if self.names[project_id] != DEMO or _find_requested(request):
            _keep_choice(request, project_id)
        return super().dispatch(request, *args, **kwargs)

    def no_project(self) -> HttpResponseBase:
        return self.render("console/no_project.html", status=404)

    def may(self, role: Role) -> bool:
        return self.caller.may(role, self.project.pk)

    def require(self, role: Role) -> None:
        if not self.may(role):
            raise PermissionDenied

    def show(self, *, status: int = 200, **context: Any) -> HttpResponse:
        """Render the page's own template."""
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
        """Return the projects to which the reader can switch.

        Each link keeps the filters of the page.
        """
        page = reverse(self.switch_route) if self.switch_route else ""
        filters = [(k, v) for k, v in self.request.GET.items() if k != "project"]
        return [
            {
                "name": name,
                "url": f"{page}?{urlencode([*filters, ('project', str(pk))])}",
            }
            for pk, name in self.names.items()
        ]


def projects_for(request: HttpRequest, role: Role) -> dict[uuid.UUID, str]:
    """Return the projects in which the person holds the role, sorted by name.

    The dict maps the id of each project to its name.
    """
    caller = caller_of(request)
    names: dict[uuid.UUID, str] = request.projects  # type: ignore[attr-defined]  # the middleware's
    allowed = ((pk, name) for pk, name in names.items() if caller.may(role, pk))
    return dict(sorted(allowed, key=lambda one: (one[1], one[0])))


def shown_project(request: HttpRequest) -> str | None:
    """Return the id of the project that the page shows, or else of the one shown before."""
    shown = getattr(request, "shown_project", None) or request.session.get(SESSION_KEY)
    return str(shown) if shown else None


def _find_requested(request: HttpRequest) -> str | None:
    return request.GET.get("project") or request.POST.get("project")


def _keep_choice(request: HttpRequest, project_id: uuid.UUID) -> None:
    if request.session.get(SESSION_KEY) != str(project_id):
        request.session[SESSION_KEY] = str(project_id)


def _chosen_project(
    request: HttpRequest, names: dict[uuid.UUID, str]
) -> uuid.UUID | None:
    if requested := _find_requested(request):
        return next((pk for pk in names if str(pk) == requested), None)
    last = request.session.get(SESSION_KEY)
    kept = next((pk for pk in names if str(pk) == last), None)
    return kept or _find_last_active(names, caller_of(request))


def _find_last_active(names: dict[uuid.UUID, str], caller: Caller) -> uuid.UUID | None:
    """Return the project of the newest finished task, memory, session or event of a hook.

    The demo comes last, and without any work the first project by name is returned.
    """
    own = [pk for pk, name in names.items() if name != DEMO] or list(names)
    if len(own) < 2:
        return next(iter(own), None)
    # Ids of rows are in the order of their creation, and have an index.
    works = (
        (AceRun, "pk", "created_at"),
        (Memory, "pk", "created_at"),
        (Session, "pk", "created_at"),
        (HookCount, "last_at", "last_at"),
    )
    newest = [
        row
        for model, order, moment in works
        for row in model.objects.visible_to(caller)
        .filter(project__in=own)
        .order_by(f"-{order}")
        .values_list(moment, "project_id")[:1]
    ]
    return max(newest)[1] if newest else own[0]


def staff_route(route: str, view: type[View], name: str) -> URLPattern:
    """Return a route for staff accounts; others are sent to the login page."""
    return path(route, admin.site.admin_view(view.as_view()), name=name)

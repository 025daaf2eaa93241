"""Every page for people, from the routes: a new page is visited or listed here."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.auth.models import User
from django.test import RequestFactory
from django.urls import reverse

from agents.models import AgentRun
from common.caller import Caller, Role
from common.ids import uuid7
from console.inbox import tabs
from conversations.models import Session, Summary
from memories.models import File
from tests.admin.conftest import MARK
from tests.support import page_addresses

# Routes that answer a browser with something other than a page.
NO_PAGES = {
    "admin:autocomplete": "data for a field",
    "admin:search": "a part of a page, for the theme's menu",
    "admin:jsi18n": "a script",
    "admin:logout": "takes a POST only",
    "admin:view_on_site": "leads away",
    "admin:audit_auditevent_csv": "a file",
    "console:inbox_decide": "leads to the card",
    "console:inbox_nearby": "a part of a card, which is visited with it",
    "admin:<path:object_id>/": "leads to the row",
    "admin:(?P<url>.*)$": "leads to the address with a slash",
    "": "leads to the first page",
    "admin": "leads to the first page",
    "healthz": "data",
    "readyz": "data",
    "metrics": "data",
    "schema": "data",
    "mcp": "data, for agents",
    "mcp/<id_or_name:project>": "data, for agents",
    "hooks/status": "data, for agents",
    "api/docs": "a library's page, Swagger UI: its looks are not ours",
}
TABS = [tab.name for tab in tabs.TABS]
OF_A_ROW = ("change", "history", "delete")
# What makes a row's page different from the same page of another model. Its form, or what
# it shows of a row, is each model's own.
MAKERS = {
    "history": ("history_view", "history_panels"),
    "delete": ("delete_view", "get_deleted_objects", "delete_confirmation_template"),
}
ALL = Caller(name="root", everywhere=Role.OWNER, account_id=1)


@dataclass(frozen=True)
class Visit:
    """A page in one of its states; `about` distinguishes the states.

    Pages with the same `makers` differ only in the row that they are about.
    """

    route: str
    path: str
    about: str = ""
    status: int = 200
    makers: tuple[object, ...] = ()

    @property
    def name(self):
        return f"{self.route} {self.about}".strip()


def routes():
    """Return the names of all GET routes outside the API; else their patterns."""
    return {name for name, _, _ in page_addresses.walk_routes()}


def url(name, *args, **asked):
    path = reverse(name, args=args)
    return f"{path}?{urlencode(asked)}" if asked else path


def of_console(world, deltas, marked):
    """The console; `deltas` are {tab of the inbox: a proposal in it}."""
    file = world[File]
    pending = deltas["pending"]
    for name in (
        "home",
        "weekly",
        "connect",
        "files",
        "schedules",
        "search",
        "playbook",
    ):
        yield Visit(f"console:{name}", url(f"console:{name}"))
    for show in ("entries", "differences"):
        past = url("console:playbook", revision=1, show=show)
        yield Visit("console:playbook", past, show)
    for tab in TABS:
        yield Visit("console:inbox", url("console:inbox", tab=tab), tab)
    yield Visit("console:inbox", url("console:inbox", run="none"), "nothing fits")
    yield Visit("console:inbox_card", url("console:inbox_card", pending.pk))
    for number in (1, 2):
        where = url("console:inbox_quote", pending.pk, number)
        yield Visit("console:inbox_quote", where, str(number))
    yield Visit("console:inbox_marked", url("console:inbox_marked", marked.pk))
    found = {"mode": "keyword", "explain": "on"}
    yield Visit("console:search", url("console:search", query=MARK, **found), "hits")
    wrong = url("console:search", query="")
    yield Visit("console:search", wrong, "refused", 400)
    folder = file.file_path.partition("/")[0]
    yield Visit("console:files", url("console:files", path=f"{folder}/"), "inside")
    yield Visit("console:file", url("console:file", path=file.file_path))
    yield Visit("console:file", url("console:file", path="none"), "unknown", 404)
    yield from of_sessions(world)


def of_sessions(world):
    session, summary = world[Session], world[Summary]
    name, route = "console:session", reverse("console:session", args=[session.pk])
    yield Visit("console:sessions", url("console:sessions"))
    yield Visit("console:sessions", url("console:sessions", q=MARK), "found")
    for show in ("transcript", "summaries", "context"):
        yield Visit(name, f"{route}?{urlencode({'show': show})}", show)
    opened = {"show": "summaries", "summary": summary.summary_id}
    yield Visit(name, f"{route}?{urlencode(opened)}", "unfolded")
    wrong = {"show": "context", "budget": "0"}
    yield Visit(name, f"{route}?{urlencode(wrong)}", "refused", 400)
    yield Visit(name, url(name, uuid7()), "unknown", 404)
    run = world[AgentRun]
    yield Visit("console:agent", url("console:agent"))
    yield Visit("console:agent_runs", url("console:agent_runs"))
    yield Visit("console:agent_run", url("console:agent_run", run.pk))
    yield Visit("console:agent_run", url("console:agent_run", uuid7()), "unknown", 404)
    pair = {"user": session.user_id, "agent": session.agent_id}
    yield Visit("console:person", url("console:person"))
    yield Visit("console:person", url("console:person", user=session.user_id), "one")
    yield Visit("console:agent_memory", url("console:agent_memory"))
    yield Visit("console:agent_memory", url("console:agent_memory", **pair), "one")


def lists():
    for model in admin.site._registry:
        route = f"{_of(model)}_changelist"
        yield Visit(route, url(route))


def of_rows(world, root):
    """Rows, forms and histories; `root` sees them all."""
    request = _by_root(root)
    for model, registered in admin.site._registry.items():
        name, row = _of(model), world[model]
        for page in OF_A_ROW:
            if page != "delete" or registered.has_delete_permission(request, row):
                path = url(f"{name}_{page}", quote(row.pk))
                makers = _makers(registered, page)
                yield Visit(f"{name}_{page}", path, makers=makers)
        if registered.has_add_permission(request):
            yield Visit(f"{name}_add", url(f"{name}_add"))


def _makers(registered, page):
    names = MAKERS.get(page, ())
    return tuple(getattr(type(registered), name) for name in names)


def one_of_each(visits):
    """Yield the first of the visits that only differ in their row."""
    seen = set()
    for visit in visits:
        if not visit.makers or visit.makers not in seen:
            yield visit
        seen.add(visit.makers)


def given_to_nobody():
    """Forms of rows that only the service writes or ends."""
    request = _by_root(None)
    for model, registered in admin.site._registry.items():
        if not registered.has_add_permission(request):
            yield f"{_of(model)}_add"
        if not registered.has_delete_permission(request):
            yield f"{_of(model)}_delete"


def _by_root(root):
    request = RequestFactory().get("/")
    request.user, request.caller, request.projects = root, ALL, {}
    return request


def _of(model):
    return f"admin:{model._meta.app_label}_{model._meta.model_name}"


def beside_rows(world):
    """The admin's own pages."""
    yield Visit("admin:index", url("admin:index"))
    for name in ("password_change", "password_change_done"):
        yield Visit(f"admin:{name}", url(f"admin:{name}"))
    route = "admin:auth_user_password_change"
    yield Visit(route, url(route, world[User].pk))
    for app in ("memories", "playbook"):
        yield Visit("admin:app_list", url("admin:app_list", app), app)


def before_the_login():
    yield Visit("admin:login", url("admin:login"))

"""The URLs of every page for people. Each URL shows rows of a project.

The pages are found through the routes, so that a new page is always included. If the
URL of a page needs a row or a word, this module chooses the row or word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.utils import quote as quoted
from django.db.models import Model
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from agents.models import AgentRun
from console.inbox.tabs import TABS
from conversations.models import Session, Summary
from memories.models import File, Memory
from playbook.models import PlaybookDelta

PREFIX, API = "admin/", "api/v1/"
# The routes that have no page of their own, and the reason for each.
NO_PAGES = {
    "admin:index": "the console's home page",
    "admin:audit_auditevent_csv": "a download, line by line",
    "admin:logout": "takes a POST only",
    "admin:view_on_site": "a redirect",
    "admin:autocomplete": "data for a field",
    "admin:login": "redirects people who are signed in",
    "console:inbox_decide": "redirects to the card",
}
SubjectRows = Mapping[type[Model], Model]
AddressQuery = dict[str, str]


@dataclass(frozen=True)
class PageSubjects:
    """What the URLs name: a row of each model, a word, a revision.

    `duplicate` is a memory that is marked as a duplicate.
    """

    rows: SubjectRows
    duplicate: Model | None
    word: str
    revision: int

    @property
    def memory(self) -> Any:
        return self.rows[Memory]

    @property
    def file(self) -> Any:
        return self.rows[File]

    @property
    def session(self) -> Any:
        return self.rows[Session]

    @property
    def summary(self) -> Any:
        """The newest summary, which is one of the session's."""
        return self.rows[Summary]

    @property
    def folder(self) -> str:
        return str(self.file.file_path).partition("/")[0] + "/"


@dataclass(frozen=True)
class PageAddress:
    route: str
    name: str
    url: str


# Pages that show more content if their URL has a query string.
QUERIES: dict[str, Callable[[PageSubjects], list[AddressQuery]]] = {
    "console:inbox": lambda subjects: [{"tab": tab.name} for tab in TABS],
    "console:search": lambda subjects: [{}, *_search_queries(subjects)],
    "console:files": lambda subjects: [{}, {"path": subjects.folder}],
    "console:file": lambda subjects: [{"path": str(subjects.file.file_path)}],
    "console:playbook": lambda subjects: [
        {},
        {"revision": str(subjects.revision)},
        {"revision": str(subjects.revision), "show": "entries"},
        {"revision": "1", "show": "differences"},
    ],
    "console:sessions": lambda subjects: [{}, {"q": subjects.word}],
    "console:session": lambda subjects: [{}, *_session_queries(subjects)],
    "console:person": lambda subjects: [{}, {"user": subjects.session.user_id}],
    "console:agent_memory": lambda subjects: [
        {},
        {"user": subjects.session.user_id, "agent": subjects.session.agent_id},
    ],
    "admin:search": lambda subjects: [{"s": subjects.word}],
}


def _search_queries(subjects: PageSubjects) -> list[AddressQuery]:
    """Return the queries of a plain search, and of one with the parts of each score."""
    return [_search_query(subjects), _search_query(subjects, explain="on")]


def _search_query(subjects: PageSubjects, **more: str) -> AddressQuery:
    return {"query": subjects.word, **more}


def _session_queries(subjects: PageSubjects) -> list[AddressQuery]:
    summary = {"summary": subjects.summary.summary_id}
    return [
        {"show": "summaries"},
        {"show": "summaries"} | summary,
        {"show": "context"},
    ]


def route_names() -> set[str]:
    """Return the names of the routes that `find_pages` visits."""
    return {name for name, _ in _routes()}


def find_pages(subjects: PageSubjects) -> Iterator[PageAddress]:
    for name, pattern in _routes():
        for arguments in _arguments(name, pattern, subjects):
            url = reverse(name, kwargs=arguments)
            for query in _page_queries(name, subjects):
                called = _label(name, arguments, query)
                yield PageAddress(name, called, _address(url, query))


def _label(name: str, arguments: Mapping[str, Any], query: AddressQuery) -> str:
    """Name a URL by its route and by what differs from the route's other URLs."""
    label = arguments.get("app_label", "")
    details = [
        f"{key}={value}" if key in ("tab", "show") else key
        for key, value in query.items()
        if key != "project"
    ]
    return " ".join(filter(None, [name, label, *details]))


def _address(url: str, query: AddressQuery) -> str:
    return f"{url}?{urlencode(query)}" if query else url


def _routes() -> Iterator[tuple[str, URLPattern]]:
    for name, route, pattern in walk_routes():
        if route.startswith(PREFIX) and pattern.name and name not in NO_PAGES:
            yield name, pattern


def walk_routes(
    resolver: URLResolver | None = None, before: str = "", space: str = ""
) -> Iterator[tuple[str, str, URLPattern]]:
    """Yield (name, route, pattern) of each route outside the API that answers a GET.

    For a route without a name, the pattern is used as the name.
    """
    for pattern in (resolver or get_resolver()).url_patterns:
        route = before + str(pattern.pattern)
        if not isinstance(pattern, URLResolver):
            if not _takes_posts_only(pattern):
                yield f"{space}{pattern.name or pattern.pattern}", route, pattern
        elif not route.startswith(API):
            inner = f"{pattern.namespace}:" if pattern.namespace else ""
            yield from walk_routes(pattern, route, space + inner)


def _takes_posts_only(pattern: URLPattern) -> bool:
    """Whether a route answers no GET, as the routes of actions do."""
    view = getattr(pattern.callback, "view_class", None)
    is_action = (pattern.name or "").endswith("_do")
    return is_action or (view is not None and not hasattr(view, "get"))


def _arguments(
    name: str, pattern: URLPattern, subjects: PageSubjects
) -> Iterator[dict[str, Any]]:
    """Yield the arguments with which a route is visited.

    They name a row of the page's model, or each app label in turn.
    """
    names = set(pattern.pattern.regex.groupindex)
    if not names:
        yield {}
    elif names == {"app_label"}:
        for label in sorted({m._meta.app_label for m in admin.site._registry}):
            yield {"app_label": label}
    elif row := _row(name, subjects):
        yield {key: _argument(key, row) for key in names}


def _row(name: str, subjects: PageSubjects) -> Model | None:
    """Return the row that a page shows; None if there is no row of its model."""
    if name == "console:inbox_marked":
        return subjects.duplicate
    if name == "console:session":
        return subjects.rows.get(Session)
    if name == "console:agent_run":
        return subjects.rows.get(AgentRun)
    if name.startswith("console:inbox_"):
        return subjects.rows[PlaybookDelta]
    rows = (
        row
        for model, row in subjects.rows.items()
        if name.startswith(_admin_prefix(model))
    )
    return next(rows, None)


def _argument(key: str, row: Model) -> Any:
    if key == "number":
        return 1
    return str(row.pk) if key in ("id", "pk") else quoted(row.pk)


def _admin_prefix(model: type[Model]) -> str:
    return f"admin:{model._meta.app_label}_{model._meta.model_name}_"


def _page_queries(name: str, subjects: PageSubjects) -> list[AddressQuery]:
    if name in QUERIES:
        return QUERIES[name](subjects)
    return [{}, {"q": subjects.word}] if name.endswith("_changelist") else [{}]

"""Every page for people, with an address at which it shows something of a project.

The pages are walked from the routes, so that a new one is among them; one that needs
a row or a word in its address says here which.
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

from console.inbox.tabs import TABS
from memories.models import File, Memory
from playbook.models import PlaybookDelta

PREFIX, API = "admin/", "api/v1/"
# Routes that answer a GET with no page of their own, and why.
NO_PAGES = {
    "admin:index": "it is the console's home",
    "admin:audit_auditevent_csv": "a download, line by line",
    "admin:logout": "takes a POST only",
    "admin:view_on_site": "leads away",
    "admin:autocomplete": "data for a field",
    "admin:login": "leads on whoever is signed in",
    "console:inbox_decide": "leads to the card",
}
SubjectRows = Mapping[type[Model], Model]
AddressQuery = dict[str, str]


@dataclass(frozen=True)
class PageSubjects:
    """What the addresses speak of: a row of each model, a word, two revisions.

    `marked` is a memory that is marked as a duplicate.
    """

    rows: SubjectRows
    marked: Model | None
    word: str
    revision: int

    @property
    def memory(self) -> Any:
        return self.rows[Memory]

    @property
    def file(self) -> Any:
        return self.rows[File]

    @property
    def folder(self) -> str:
        return str(self.file.file_path).partition("/")[0] + "/"


@dataclass(frozen=True)
class PageAddress:
    route: str
    name: str
    url: str


# The pages that have more to show than their bare address does.
QUERIES: dict[str, Callable[[PageSubjects], list[AddressQuery]]] = {
    "console:inbox": lambda shown: [{"tab": tab.name} for tab in TABS],
    "console:search": lambda shown: [{}, *_search_queries(shown)],
    "console:files": lambda shown: [{}, {"path": shown.folder}],
    "console:file": lambda shown: [{"path": str(shown.file.file_path)}],
    "console:playbook": lambda shown: [
        {},
        {"revision": str(shown.revision)},
        {"revision": str(shown.revision), "show": "entries"},
        {"revision": "1", "show": "differences"},
    ],
    "admin:search": lambda shown: [{"s": shown.word}],
    "admin:playbook_playbook_preview": lambda shown: [
        {},
        _project_query(shown, "task"),
    ],
    "admin:context_digestconfig_preview": lambda shown: [
        {},
        _project_query(shown, "query"),
    ],
    "admin:memories_memory_compact": lambda shown: [_memory_query(shown)],
    "admin:memories_memory_promote": lambda shown: [_memory_query(shown)],
}


def _search_queries(shown: PageSubjects) -> list[AddressQuery]:
    """Found, with the parts of each score, and why one memory was or was not."""
    why = str(shown.memory.pk)
    return [
        _search_query(shown),
        _search_query(shown, explain="on"),
        _search_query(shown, why=why),
    ]


def _search_query(shown: PageSubjects, **more: str) -> AddressQuery:
    return {"query": shown.word, **more}


def _project_query(shown: PageSubjects, name: str) -> AddressQuery:
    return {"project": str(shown.memory.project_id), name: shown.word}


def _memory_query(shown: PageSubjects) -> AddressQuery:
    return {"memories": str(shown.memory.pk)}


def route_names() -> set[str]:
    """The names of the routes that are walked."""
    return {name for name, _ in _routes()}


def page_addresses(shown: PageSubjects) -> Iterator[PageAddress]:
    for name, pattern in _routes():
        for arguments in _arguments(name, pattern, shown):
            url = reverse(name, kwargs=arguments)
            for query in _page_queries(name, shown):
                called = _label(name, arguments, query)
                yield PageAddress(name, called, _address(url, query))


def _label(name: str, arguments: Mapping[str, Any], query: AddressQuery) -> str:
    """The route, and what tells this address from the others of it."""
    label = arguments.get("app_label", "")
    told = [
        f"{key}={value}" if key in ("tab", "show") else key
        for key, value in query.items()
        if key != "project"
    ]
    return " ".join(filter(None, [name, label, *told]))


def _address(url: str, query: AddressQuery) -> str:
    return f"{url}?{urlencode(query)}" if query else url


def _routes() -> Iterator[tuple[str, URLPattern]]:
    for name, route, pattern in walk_routes():
        if route.startswith(PREFIX) and pattern.name and name not in NO_PAGES:
            yield name, pattern


def walk_routes(
    resolver: URLResolver | None = None, before: str = "", space: str = ""
) -> Iterator[tuple[str, str, URLPattern]]:
    """Name (else pattern), route and pattern of what answers a GET outside the API."""
    for pattern in (resolver or get_resolver()).url_patterns:
        route = before + str(pattern.pattern)
        if not isinstance(pattern, URLResolver):
            if not _takes_posts_only(pattern):
                yield f"{space}{pattern.name or pattern.pattern}", route, pattern
        elif not route.startswith(API):
            inner = f"{pattern.namespace}:" if pattern.namespace else ""
            yield from walk_routes(pattern, route, space + inner)


def _takes_posts_only(pattern: URLPattern) -> bool:
    """As the routes of actions do."""
    view = getattr(pattern.callback, "view_class", None)
    is_action = (pattern.name or "").endswith("_do")
    return is_action or (view is not None and not hasattr(view, "get"))


def _arguments(
    name: str, pattern: URLPattern, shown: PageSubjects
) -> Iterator[dict[str, Any]]:
    """What stands in the route: a row of the page's model, or all app labels."""
    wanted = set(pattern.pattern.regex.groupindex)
    if not wanted:
        yield {}
    elif wanted == {"app_label"}:
        for label in sorted({m._meta.app_label for m in admin.site._registry}):
            yield {"app_label": label}
    elif row := _row(name, shown):
        yield {key: _argument(key, row) for key in wanted}


def _row(name: str, shown: PageSubjects) -> Model | None:
    """The row that a page is about; none when there is no row of its model."""
    if name == "console:inbox_marked":
        return shown.marked
    if name.startswith("console:inbox_"):
        return shown.rows[PlaybookDelta]
    named = (
        row
        for model, row in shown.rows.items()
        if name.startswith(_admin_prefix(model))
    )
    return next(named, None)


def _argument(key: str, row: Model) -> Any:
    if key == "number":
        return 1
    return str(row.pk) if key in ("id", "pk") else quoted(row.pk)


def _admin_prefix(model: type[Model]) -> str:
    return f"admin:{model._meta.app_label}_{model._meta.model_name}_"


def _page_queries(name: str, shown: PageSubjects) -> list[AddressQuery]:
    if name in QUERIES:
        return QUERIES[name](shown)
    return [{}, {"q": shown.word}] if name.endswith("_changelist") else [{}]

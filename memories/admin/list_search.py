"""The admin's search of memories: the product's own, asked with the list's filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from common import errors
from common.admin.filters import day_bounds
from common.caller import Caller
from memories.queries import SHARED_SCOPES, Filters, MemoryQuerySet
from memories.read import search
from memories.scopes import Scope
from projects.models import Project
from search.search import Mode

MAX_HITS = 100  # as many hits as one answer of the API may hold
# Each project and scope is searched on its own; more would make a person wait.
MOST_PROJECTS = MOST_SCOPES = 20
UNSEARCHABLE = {"superseded", "expired", "archived", "deleted"}


class TooManyProjects(errors.Refusal):
    """Choose a project to search in; there are too many to search all at once."""

    code = "too_many_projects"


class TooManyScopes(errors.Refusal):
    """Name the key of the scope; there are too many to search all at once."""

    code = "too_many_scopes"


class StateNotSearchable(errors.Refusal):
    """Only current memories and duplicates are searched; choose no other state."""

    code = "not_searched"


def search_everywhere(
    query: str, rows: MemoryQuerySet, asked: Mapping[str, Any], caller: Caller
) -> list[search.MemoryHit]:
    """The hits of the chosen project, or of all visible ones, best first.

    `asked` is the list's query string, `rows` what its filters leave. A shared memory
    is found in every project of its organization, and keeps its best score.
    """
    if asked.get("state") in UNSEARCHABLE:
        raise StateNotSearchable
    request = search.MemorySearch(
        query=query, mode=_mode(asked), limit=MAX_HITS, filters=_filters(asked)
    )
    best: dict[Any, search.MemoryHit] = {}
    for project, scope in _search_targets(rows, asked, caller):
        within = replace(request, scope=scope)
        for hit in search.find(project, within, caller).hits:
            known = best.get(hit.memory.pk)
            if known is None or hit.score > known.score:
                best[hit.memory.pk] = hit
    # Ties stay as each search has them.
    return sorted(best.values(), key=lambda hit: hit.score, reverse=True)


def chosen_projects(asked: Mapping[str, Any], caller: Caller) -> list[Project]:
    rows = Project.objects.visible_to(caller)
    chosen = asked.get("project", "")
    if chosen:
        # Compared as text: what is no id at all fits none.
        return [project for project in rows if str(project.pk) == chosen]
    found = list(rows[: MOST_PROJECTS + 1])
    if len(found) > MOST_PROJECTS:
        raise TooManyProjects
    return found


def _mode(asked: Mapping[str, Any]) -> Mode:
    mode = asked.get("mode", "")
    return cast(Mode, mode) if mode in {"keyword", "semantic"} else "hybrid"


def _filters(asked: Mapping[str, Any]) -> Filters:
    start, end = day_bounds(asked, "created_at")
    return Filters(
        memory_types=_one_value(asked, "memory_type"),
        kinds=_one_value(asked, "kind"),
        tags=tuple(
            tag.strip() for tag in asked.get("tag", "").split(",") if tag.strip()
        ),
        agent_ids=_one_value(asked, "agent_id"),
        sensitivities=_one_value(asked, "sensitivity"),
        include_duplicates=asked.get("state") == "duplicate",
        date_from=start,
        date_to=end,
    )


def _search_targets(
    rows: MemoryQuerySet, asked: Mapping[str, Any], caller: Caller
) -> list[tuple[Project, Scope | None]]:
    """Each project with every scope of the rows; None: all of the shared ones."""
    projects = chosen_projects(asked, caller)
    kind, key = asked.get("scope_kind", ""), asked.get("scope_key", "").strip()
    if not key and kind in {"", *SHARED_SCOPES}:
        return [(project, None) for project in projects]
    columns = ("project_id", "scope_kind", "scope_key", "scope_type", "scope_user")
    found = rows.order_by().values_list(*columns).distinct()[: MOST_SCOPES + 1]
    if len(found) > MOST_SCOPES:
        raise TooManyScopes
    known = {project.pk: project for project in projects}
    return [(known[pk], Scope(*scope)) for pk, *scope in found if pk in known]


def _one_value(asked: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = asked.get(name, "").strip()
    return (value,) if value else ()

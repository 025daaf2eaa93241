"""Search memories in the admin.

The search is the one that the API uses, with the filters of the admin's list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from common import errors
from common.admin.filters import day_bounds
from common.caller import Caller
from common.text import comma_list
from memories.queries import SHARED_SCOPES, Filters, MemoryQuerySet
from memories.read import search
from memories.scopes import Scope
from projects.models import Project
from search.search import Mode

MAX_HITS = 100  # the maximum number of memories in one answer of the API
# Each pair of a project and a scope needs its own search. More pairs would take too long.
MAX_PROJECTS = MAX_SCOPES = 20
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
    query: str, rows: MemoryQuerySet, params: Mapping[str, Any], caller: Caller
) -> list[search.MemoryHit]:
    """Search the chosen project, or all visible projects; return hits, best first.

    `params` is the query string of the list. `rows` are the memories that the list's
    filters leave. A shared memory is found in every project of its organization and keeps
    its best score.
    """
    if params.get("state") in UNSEARCHABLE:
        raise StateNotSearchable
    request = search.MemorySearch(
        query=query, mode=_mode(params), limit=MAX_HITS, filters=_filters(params)
    )
    best: dict[Any, search.MemoryHit] = {}
    for project, scope in _search_targets(rows, params, caller):
        within = replace(request, scope=scope)
        for hit in search.find(project, within, caller).hits:
            known = best.get(hit.memory.pk)
            if known is None or hit.score > known.score:
                best[hit.memory.pk] = hit
    # The sort is stable: hits with equal scores keep the order of their search.
    return sorted(best.values(), key=lambda hit: hit.score, reverse=True)


def chosen_projects(params: Mapping[str, Any], caller: Caller) -> list[Project]:
    rows = Project.objects.visible_to(caller)
    chosen = params.get("project", "")
    if chosen:
        # The ids are compared as text, so that a value which is no id matches no project.
        return [project for project in rows if str(project.pk) == chosen]
    projects = list(rows[: MAX_PROJECTS + 1])
    if len(projects) > MAX_PROJECTS:
        raise TooManyProjects
    return projects


def _mode(params: Mapping[str, Any]) -> Mode:
    mode = params.get("mode", "")
    return cast(Mode, mode) if mode in {"keyword", "semantic"} else "hybrid"


def _filters(params: Mapping[str, Any]) -> Filters:
    start, end = day_bounds(params, "created_at")
    return Filters(
        memory_types=_one_value(params, "memory_type"),
        kinds=_one_value(params, "kind"),
        tags=tuple(comma_list.split(params.get("tag", ""))),
        agent_ids=_one_value(params, "agent_id"),
        sensitivities=_one_value(params, "sensitivity"),
        include_duplicates=params.get("state") == "duplicate",
        date_from=start,
        date_to=end,
    )


def _search_targets(
    rows: MemoryQuerySet, params: Mapping[str, Any], caller: Caller
) -> list[tuple[Project, Scope | None]]:
    """Return the pairs of project and scope that must be searched.

    Each project is paired with the scopes of its rows. The scope None stands for all shared
    scopes.
    """
    projects = chosen_projects(params, caller)
    kind, key = params.get("scope_kind", ""), params.get("scope_key", "").strip()
    if not key and kind in {"", *SHARED_SCOPES}:
        return [(project, None) for project in projects]
    columns = ("project_id", "scope_kind", "scope_key", "scope_type", "scope_user")
    targets = rows.order_by().values_list(*columns).distinct()[: MAX_SCOPES + 1]
    if len(targets) > MAX_SCOPES:
        raise TooManyScopes
    known = {project.pk: project for project in projects}
    return [(known[pk], Scope(*scope)) for pk, *scope in targets if pk in known]


def _one_value(params: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = params.get(name, "").strip()
    return (value,) if value else ()

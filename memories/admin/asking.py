"""The admin's search of memories: the product's own, asked with the list's filters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from common import errors
from common.caller import Caller
from common.list_filters import days
from memories import recall
from memories.models import Memory
from memories.queries import Filters
from memories.scopes import Scope
from projects.models import Project
from search.ranking import Mode

BEST = 100  # as many hits as one answer of the API may hold
# Each project is searched on its own; more of them would make a person wait.
MOST_PROJECTS = 20


class TooManyProjects(errors.Refusal):
    """Choose a project to search in; there are too many to search all at once."""

    code = "too_many_projects"


def search_everywhere(
    query: str, asked: Mapping[str, Any], caller: Caller
) -> list[recall.Hit]:
    """The hits of the chosen project, or of all visible ones, best first.

    `asked` is the list's query string. A shared memory is found in every project of
    its organization, and keeps its best score.
    """
    request = recall.Request(
        query=query,
        mode=_mode(asked),
        limit=BEST,
        filters=_filters(asked),
        scope=_scope(asked),
    )
    best: dict[Any, recall.Hit] = {}
    for project in projects_asked(asked, caller):
        for hit in recall.search(project, request, caller).hits:
            known = best.get(hit.memory.pk)
            if known is None or hit.score > known.score:
                best[hit.memory.pk] = hit
    return sorted(
        best.values(), key=lambda hit: (hit.score, hit.memory.pk), reverse=True
    )


def projects_asked(asked: Mapping[str, Any], caller: Caller) -> list[Project]:
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
    start, end = days(asked, "created_at")
    return Filters(
        memory_types=_listed(asked, "memory_type"),
        kinds=_listed(asked, "kind"),
        tags=tuple(
            tag.strip() for tag in asked.get("tag", "").split(",") if tag.strip()
        ),
        agent_ids=_listed(asked, "agent_id"),
        sensitivities=_listed(asked, "sensitivity"),
        include_duplicates=asked.get("state") == "duplicate",
        date_from=start,
        date_to=end,
    )


def _scope(asked: Mapping[str, Any]) -> Scope | None:
    """The one scope that is named by its kind and its key; else the shared ones."""
    kind, key = asked.get("scope_kind", ""), asked.get("scope_key", "").strip()
    if kind in Memory.Scope.values and key:
        return Scope(kind, key)
    return None


def _listed(asked: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = asked.get(name, "").strip()
    return (value,) if value else ()

"""Read memories without a query, by id or by scope."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from common.caller import Caller, Role
from common.pagination import DEFAULT_LIMIT
from memories.models import Memory
from memories.queries import Filters, MemoryQuerySet
from memories.scopes import Scope
from memories.store.tags import find_spellings
from projects.models import Project


def readable_rows(
    project: Project,
    scope: Scope | None,
    filters: Filters,
    caller: Caller,
    shared: bool | None = None,
    extra: Sequence[Scope] = (),
) -> MemoryQuerySet:
    """Return the rows that a read covers, after every filter.

    `shared` and `extra` have the same meaning as in `reachable`.
    """
    is_own_scope = scope is not None and scope.kind != "org"
    is_one_project = is_own_scope or shared is False
    visible = Memory.objects.visible_to(caller, project if is_one_project else None)
    reached = visible.reachable(project, scope, shared, extra)
    rows: MemoryQuerySet = reached.filter_by(filters)
    if filters.tags:
        spelled = find_spellings(project, filters.tags)
        rows = rows.tagged(spelled, filters.tags_match)
    return rows


@dataclass(frozen=True)
class Retrieval:
    """A read without a query (requirement 000).

    The rows are sorted by time, with the newest or the oldest row first.
    """

    scope: Scope | None = None
    sessions: Sequence[Scope] = ()
    filters: Filters = field(default_factory=Filters)
    since: datetime | None = None
    order: str = "newest"


def read_scope(project: Project, request: Retrieval, caller: Caller) -> MemoryQuerySet:
    """Return the rows of a scope and of the sessions that the request includes."""
    caller.require(Role.VIEWER, project.pk)
    rows = readable_rows(project, request.scope, request.filters, caller)
    for session in request.sessions:
        rows = rows | readable_rows(project, session, request.filters, caller)
    if request.since:
        rows = rows.filter(created_at__gte=request.since)
    return rows.order_by("pk" if request.order == "oldest" else "-pk").in_full()


def page_size(limit: float | None) -> int:
    """Return the number of rows to read (requirement 000).

    The number is 20 unless `limit` is at least 1.
    """
    return math.floor(limit) if limit and limit >= 1 else DEFAULT_LIMIT


def find_memories(
    ids: Sequence[uuid.UUID], project: Project, caller: Caller
) -> list[Memory]:
    """Return the memories of a project that are readable by these ids, in their order."""
    caller.require(Role.VIEWER, project.pk)
    rows = Memory.objects.visible_to(caller, project).readable().in_full()
    found: dict[uuid.UUID, Memory] = rows.in_bulk(list(ids))
    return [found[pk] for pk in dict.fromkeys(ids) if pk in found]


def find_memory(memory_id: uuid.UUID, caller: Caller) -> Memory | None:
    """Return a readable memory by its id.

    Return None if the memory does not exist or has expired.
    """
    memory: Memory | None = (
        Memory.objects.visible_to(caller)
        .readable()
        .in_full()
        .filter(pk=memory_id)
        .first()
    )
    return memory

"""Read memories without a query: by id, or the rows of a scope."""

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
from projects.models import Project


def readable_rows(
    project: Project,
    scope: Scope | None,
    filters: Filters,
    caller: Caller,
    shared: bool | None = None,
) -> MemoryQuerySet:
    """The rows that a read covers, after every filter; `shared` as in `covering`."""
    is_of_one = scope is not None or shared is False
    seen = Memory.objects.visible_to(caller, project if is_of_one else None)
    rows: MemoryQuerySet = seen.in_reach(project, scope, shared).filter_by(filters)
    return rows


@dataclass(frozen=True)
class Retrieval:
    """A structured read (requirement 000): no query, newest or oldest first."""

    scope: Scope | None = None
    sessions: Sequence[Scope] = ()
    filters: Filters = field(default_factory=Filters)
    since: datetime | None = None
    order: str = "newest"


def read_scope(project: Project, request: Retrieval, caller: Caller) -> MemoryQuerySet:
    """The rows of a scope, and of the named session when it is to be included."""
    caller.require(Role.VIEWER, project.pk)
    rows = readable_rows(project, request.scope, request.filters, caller)
    for session in request.sessions:
        rows = rows | readable_rows(project, session, request.filters, caller)
    if request.since:
        rows = rows.filter(created_at__gte=request.since)
    return rows.order_by("pk" if request.order == "oldest" else "-pk").in_full()


def page_size(wanted: float | None) -> int:
    """Requirement 000: 20 unless a whole part above zero is asked for."""
    return math.floor(wanted) if wanted and wanted >= 1 else DEFAULT_LIMIT


def find_memory(memory_id: uuid.UUID, caller: Caller) -> Memory | None:
    found: Memory | None = (
        Memory.objects.visible_to(caller)
        .readable()
        .in_full()
        .filter(pk=memory_id)
        .first()
    )
    return found

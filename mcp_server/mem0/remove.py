"""Delete memories softly, as mem0's client asks for it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.db.models import Q

from common.caller import Caller, Role
from common.db import write
from mcp_server.mem0.entities import EntityIds
from mcp_server.mem0.filter_tree import FilterGroup, build_query
from memories.lifecycle import delete
from memories.models import Memory
from projects.models import Project

REASON = "deleted by a client of mem0"


@write
def delete_memory(memory: Memory, caller: Caller, *, with_older: bool = False) -> None:
    """Delete a memory and, if asked, those that it has replaced, directly or not."""
    older = find_older(memory, caller) if with_older else []
    for memory_id in [memory.pk, *older]:
        delete.delete_memory(memory_id, caller, reason=REASON)


@write
def delete_memories(memories: Sequence[Memory], caller: Caller) -> None:
    for memory in memories:
        delete.delete_memory(memory.pk, caller, reason=REASON)


def find_older(memory: Memory, caller: Caller) -> list[uuid.UUID]:
    found: list[uuid.UUID] = []
    level = [memory.pk]
    while level:
        rows = Memory.objects.visible_to(caller).filter(superseded_by__in=level)
        level = list(rows.exclude(pk__in=found).values_list("pk", flat=True))
        found += level
    return found


def delete_of(project: Project, ids: EntityIds, caller: Caller) -> int:
    """Delete exactly the scope of a run, a user or an app; return how many were deleted."""
    return delete.delete_scope(project, ids.scope(project, caller), caller)


def delete_matching(project: Project, filters: FilterGroup, caller: Caller) -> int:
    """Delete what a filter matches, sensitive and expired memories included."""
    return delete_where(project, build_query(filters, caller), caller)


@write
def delete_where(project: Project, condition: Q, caller: Caller) -> int:
    """Delete the memories of a condition; this is for curators, as that of a scope is."""
    caller.require(Role.CURATOR, project.pk)
    visible = Memory.objects.visible_to(caller, project).filter(deleted_at=None)
    ids = visible.filter(condition).order_by("pk").values_list("pk", flat=True)
    # One after the other: the duplicate of a memory becomes an original in its place.
    return sum(
        delete.delete_memory(memory_id, caller, reason=REASON)
        for memory_id in list(ids)
    )

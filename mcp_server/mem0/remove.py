"""Delete memories softly, as mem0's client asks for it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

from django.db.models import Q

from common import errors
from common.caller import Caller, Role
from common.db import write
from mcp_server.mem0 import entities
from mcp_server.mem0.entities import PRIVATE, EntityIds
from mcp_server.mem0.filter_tree import FilterGroup, build_query
from memories.lifecycle import delete
from memories.models import Memory
from projects.models import Project

REASON = "deleted by a client of mem0"
# Memories that one request deletes by a filter, and those that one has replaced.
MAX_AT_ONCE, MAX_OLDER = 5_000, 500
MORE = (
    f"One request deletes {MAX_AT_ONCE:,} memories; send it again to delete the others."
)


@write
def delete_memory(memory: Memory, caller: Caller, *, with_older: bool = False) -> None:
    """Delete a memory and, if asked, those that it has replaced, directly or not."""
    older = find_older(memory, caller) if with_older else []
    _delete_each([memory.pk, *older], caller)


@write
def delete_memories(memories: Sequence[Memory], caller: Caller) -> None:
    _delete_each([memory.pk for memory in memories], caller)


def find_older(memory: Memory, caller: Caller) -> list[uuid.UUID]:
    """Return the memories that this one has replaced; refuse if they are too many."""
    found: list[uuid.UUID] = []
    level = [memory.pk]
    while level:
        rows = Memory.objects.visible_to(caller).filter(superseded_by__in=level)
        new = rows.exclude(pk__in=found).values_list("pk", flat=True)
        level = list(new[: MAX_OLDER + 1])
        found += level
        if len(found) > MAX_OLDER:
            message = (
                f"It has replaced more than {MAX_OLDER} memories; delete it alone."
            )
            raise errors.Invalid(errors={"delete_linked": [message]})
    return found


def delete_of(project: Project, ids: EntityIds, caller: Caller) -> int:
    """Delete exactly the scope of a run, a user or an app; return how many were deleted."""
    return delete.delete_scope(project, ids.scope(project, caller), caller)


def delete_entity(project: Project, name: str, value: str, caller: Caller) -> int:
    """Delete what is of an entity; return how many were deleted.

    This is for curators, but a writer whose key is bound to a user ends a run of this user.
    """
    if name == "run_id" and caller.user_id and not caller.may(Role.CURATOR, project.pk):
        return delete_of(project, EntityIds(run_id=value), caller)
    return delete_where(project, entities.query_one(name, value), caller)


def delete_matching(project: Project, filters: FilterGroup, caller: Caller) -> int:
    """Delete what a filter matches, sensitive and expired memories included."""
    return delete_where(project, build_query(filters, caller), caller)


def count_left(project: Project, filters: FilterGroup, caller: Caller) -> int:
    """Return how many memories match, also of users, apps and runs that it does not name."""
    visible = Memory.objects.visible_to(caller, project).filter(deleted_at=None)
    return int(visible.filter(build_query(filters, caller, done=PRIVATE)).count())


@write
def delete_where(project: Project, condition: Q, caller: Caller) -> int:
    """Delete at most MAX_AT_ONCE memories of a condition; return how many were deleted.

    This is for curators, as the deletion of a scope is.
    """
    caller.require(Role.CURATOR, project.pk)
    visible = Memory.objects.visible_to(caller, project).filter(deleted_at=None)
    rows = visible.filter(condition).order_by("pk").only("pk")
    locked = rows.select_for_update(no_key=True, of=("self",))[:MAX_AT_ONCE]
    return _delete_each([memory.pk for memory in locked], caller)


def _delete_each(ids: Iterable[uuid.UUID], caller: Caller) -> int:
    """Delete one after the other: a duplicate becomes an original in its place.

    Return how many were deleted.
    """
    return sum(delete.delete_memory(pk, caller, reason=REASON) for pk in ids)

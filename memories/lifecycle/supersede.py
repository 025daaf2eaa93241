"""Replace a memory with a newer one."""

from __future__ import annotations

import uuid

from common import errors
from common.caller import Caller, Role
from common.db import write
from memories.lifecycle.lookup import lock_undeleted
from memories.models import Memory, MemoryChange
from memories.queries import PRIVATE_SCOPES
from memories.store import history, originals


@write
def supersede_memory(
    memory: Memory, by: Memory, caller: Caller, *, note: str = ""
) -> Memory:
    """Replace a memory with a newer one.

    The old memory can still be read by its id.
    """
    caller.require(Role.WRITER, memory.project_id)
    if by.pk == memory.pk or by.project_id != memory.project_id:
        raise errors.Invalid(
            "Only another memory of the same project can supersede a memory.",
            errors={"by": ["Name another memory of the same project."]},
        )
    if by.scope_kind in PRIVATE_SCOPES and by.scope_hash != memory.scope_hash:
        raise errors.Invalid(
            "A private memory can only supersede memories of its own scope.",
            errors={"by": ["Name a memory of the same scope, or of a shared one."]},
        )
    # Lock both memories; otherwise two requests could make two memories supersede each other.
    both = sorted((memory, by), key=lambda row: row.pk)
    locked = {row.pk: lock_undeleted(row) for row in both}
    memory, by = locked[memory.pk], locked[by.pk]
    if memory.pk in _successors(by):
        raise errors.StateConflict(
            f"Memory {by.pk} is already superseded by memory {memory.pk}."
        )
    if memory.superseded_by_id == by.pk:
        return memory
    if not Memory.objects.current().filter(pk=by.pk).exists():
        raise errors.StateConflict(
            f"Memory {by.pk} is not current itself. Name its original, or the memory that "
            "superseded it."
        )
    before = history.snapshot(memory)
    memory.superseded_by = by
    memory.version += 1
    memory.save(update_fields=["superseded_by", "version", "updated_at"])
    action = MemoryChange.Action.SUPERSEDE
    history.record(caller, action, memory, before=before, reason=note)
    originals.promote_successor(memory, caller)
    return memory


def _successors(memory: Memory) -> set[uuid.UUID]:
    """Return the ids of all memories that supersede a memory, directly or indirectly."""
    seen: set[uuid.UUID] = set()
    while memory.superseded_by and memory.pk not in seen:
        seen.add(memory.superseded_by.pk)
        memory = memory.superseded_by
    return seen

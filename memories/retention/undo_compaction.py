"""Undo a compaction: restore its sources and delete its result."""

from __future__ import annotations

from common import errors
from common.caller import Caller, Role
from common.db import write
from memories.lifecycle import delete, lookup, restore
from memories.models import Memory, MemoryChange
from memories.queries import MemoryQuerySet
from memories.store import history, originals


class NotCompacted(errors.StateConflict):
    """This memory was not made by a compaction, or that is undone already."""

    code = "not_compacted"


@write
def undo(memory: Memory, caller: Caller) -> MemoryQuerySet:
    """Bring the retired sources back and delete the result; the sources, in order."""
    caller.require(Role.WRITER, memory.project_id)
    held = lookup.lock_memory(memory)
    if not held.compacted_from or held.deleted_at:
        raise NotCompacted
    # What was retired comes back itself.
    delete.soft_delete(held, caller, "its compaction was undone", elect=False)
    originals.promote_successor(held, caller)
    _restore_facts(held, caller)
    rows = Memory.objects.visible_to(caller).filter(pk__in=held.compacted_from)
    for source in rows.filter(retired_into=held.pk).order_by("pk"):
        restore.restore_memory(source.pk, caller)
    found: MemoryQuerySet = rows.order_by("pk")
    return found


def _restore_facts(gone: Memory, caller: Caller) -> None:
    """Give facts that a memory superseded their place again, unless it is taken.

    The newest has it, whether it was a source or not.
    """
    kept = Memory.objects.filter(superseded_by=gone, deleted_at=None)
    for fact in kept.order_by("-pk").select_for_update(no_key=True):
        before = history.snapshot(fact)
        fact.superseded_by = None
        originals.assign(fact)
        action = MemoryChange.Action.RESTORE
        history.record(caller, action, fact, before=before, reason="its fact left")

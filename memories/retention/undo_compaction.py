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
    """This memory is no result of a compaction, or the compaction is already undone.

    A promoted copy is no result; undo the compaction of the memory that was promoted.
    """

    code = "not_compacted"


@write
def undo(memory: Memory, caller: Caller) -> MemoryQuerySet:
    """Delete the result and restore its deleted sources; return all sources, in order."""
    caller.require(Role.WRITER, memory.project_id)
    result = lookup.lock_memory(memory)
    if not result.is_compaction_result or result.deleted_at:
        raise NotCompacted
    # Unlike other deletions, this one appoints no successor, because the sources come back.
    delete.soft_delete(result, caller, "its compaction was undone", has_successor=False)
    originals.promote_successor(result, caller)
    _restore_facts(result, caller)
    rows = Memory.objects.visible_to(caller).filter(pk__in=result.compacted_from)
    for source in rows.filter(retired_into=result.pk).order_by("pk"):
        restore.restore_memory(source.pk, caller)
    sources: MemoryQuerySet = rows.order_by("pk")
    return sources


def _restore_facts(deleted: Memory, caller: Caller) -> None:
    """Make the newest fact that a deleted memory superseded current again.

    The fact need not be a source. If another fact with the same key is current, that fact
    stays.
    """
    facts = Memory.objects.filter(superseded_by=deleted, deleted_at=None)
    for fact in facts.order_by("-pk").select_for_update(no_key=True):
        before = history.snapshot(fact)
        fact.superseded_by = None
        originals.assign(fact)
        action = MemoryChange.Action.RESTORE
        history.record(caller, action, fact, before=before, reason="its fact left")

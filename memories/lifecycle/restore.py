"""Bring a deleted, archived or superseded memory back."""

from __future__ import annotations

import uuid

from common import errors
from common.caller import Caller, Role
from common.db import write
from memories.lifecycle import lookup
from memories.models import Memory, MemoryChange
from memories.store import history, originals, vectors


class NotDeleted(errors.StateConflict):
    """This memory is not deleted, not archived before its expiry, and not superseded by
    a memory that is deleted, archived or expired."""

    code = "not_deleted"


@write
def restore_memory(memory_id: uuid.UUID, caller: Caller) -> Memory:
    """Restore a memory.

    If another original has the same text by now, the memory becomes a duplicate of that
    original. A memory that was archived before it was deleted is archived again.
    """
    memory = Memory.objects.visible_to(caller).filter(pk=memory_id).first()
    if memory is None:
        raise lookup.not_found_error(memory_id)
    caller.require(Role.WRITER, memory.project_id)
    memory = lookup.lock_memory(memory)
    if not is_restorable(memory):
        raise NotDeleted
    before = history.snapshot(memory)
    if memory.deleted_at:
        memory.deleted_at = None
        memory.deleted_by = memory.delete_reason = ""
        memory.retired_into = None
    else:
        memory.archived_at = None
    if memory.superseded_by and memory.superseded_by.is_inactive:
        memory.superseded_by = None
    originals.assign(memory)
    if memory.is_duplicate:
        # The memory was deleted without a successor and still has duplicates. These
        # become duplicates of the memory's original.
        copies = Memory.objects.filter(duplicate_of=memory)
        copies.update(duplicate_of=memory.duplicate_of)
    history.record(caller, MemoryChange.Action.RESTORE, memory, before=before)
    vectors.embed_later(memory.project_id)
    return memory


def is_restorable(memory: Memory) -> bool:
    """Whether a memory can be restored.

    The memory must be deleted, archived before its expiry, or superseded by a memory that
    is not active.
    """
    return bool(
        memory.deleted_at
        or (memory.archived_at and not memory.is_expired)
        or (memory.superseded_by and memory.superseded_by.is_inactive)
    )

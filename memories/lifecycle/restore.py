"""Bring a deleted, archived or superseded memory back."""

from __future__ import annotations

import uuid

from common import errors
from common.caller import Caller, Role
from common.db import write
from memories.lifecycle.lookup import lock_memory
from memories.models import Memory, MemoryChange
from memories.store import history, originals, vectors


class NotDeleted(errors.StateConflict):
    """This memory is neither deleted, nor archived before its expiry, nor superseded by
    one that has left."""

    code = "not_deleted"


@write
def restore_memory(memory_id: uuid.UUID, caller: Caller) -> Memory:
    """Bring a memory back; when its place was taken, as a duplicate.

    One that was archived and then deleted is archived again.
    """
    memory = Memory.objects.visible_to(caller).filter(pk=memory_id).first()
    if memory is None:
        raise errors.NotFound
    caller.require(Role.WRITER, memory.project_id)
    memory = lock_memory(memory)
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
        # It left without an heir: what points to it goes on to its original.
        copies = Memory.objects.filter(duplicate_of=memory)
        copies.update(duplicate_of=memory.duplicate_of)
    history.record(caller, MemoryChange.Action.RESTORE, memory, before=before)
    vectors.embed_later(memory.project_id)
    return memory


def is_restorable(memory: Memory) -> bool:
    """Whether it was deleted, archived for another reason than its expiry, or
    superseded by one that has left."""
    return bool(
        memory.deleted_at
        or (memory.archived_at and not memory.is_expired)
        or (memory.superseded_by and memory.superseded_by.is_inactive)
    )

"""Find one memory for a caller, and lock it for a change."""

from __future__ import annotations

import uuid

from common import errors
from common.caller import Caller, Role
from common.erasure import redaction
from memories.models import Memory


def get_memory(
    memory_id: uuid.UUID, caller: Caller, role: Role = Role.VIEWER
) -> Memory:
    """A readable memory in whose project the caller has the role, or a refusal."""
    memory = Memory.objects.visible_to(caller).readable().filter(pk=memory_id).first()
    if memory is None:
        raise not_found(memory_id)
    caller.require(role, memory.project_id)
    found: Memory = memory
    return found


def not_found(memory_id: uuid.UUID) -> errors.NotFound:
    return errors.NotFound(f"There is no memory {memory_id}, or it has expired.")


def project_of(memory_id: uuid.UUID, caller: Caller) -> uuid.UUID | None:
    """The project of a memory that the caller may see, whether it is deleted or not."""
    rows = Memory.objects.visible_to(caller).filter(pk=memory_id)
    return rows.values_list("project_id", flat=True).first()


def lock_memory(memory: Memory, version: int | None = None) -> Memory:
    """Lock a memory until the transaction ends; refuse a version that is not its own."""
    held = Memory.objects.select_for_update(no_key=True).filter(pk=memory.pk).first()
    if held is None:
        raise errors.NotFound
    if held.deleted_at and redaction.is_redacted(held.content):
        raise errors.NotFound(f"Memory {memory.pk} was purged; its text is gone.")
    if version is not None and held.version != version:
        raise errors.StaleVersion(current_version=held.version)
    found: Memory = held
    return found


def lock_undeleted(memory: Memory, version: int | None = None) -> Memory:
    """The same, of one that nobody has deleted since it was read."""
    held = lock_memory(memory, version)
    if held.deleted_at:
        raise not_found(memory.pk)
    return held

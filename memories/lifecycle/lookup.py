"""Find one memory for a caller, and lock the memory for a change."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from common import errors
from common.caller import Caller, Role
from common.erasure import redaction
from memories.models import Memory


def get_memory(
    memory_id: uuid.UUID, caller: Caller, role: Role = Role.VIEWER
) -> Memory:
    """Return a readable memory.

    Refuse if the caller lacks the role in the memory's project.
    """
    memory = Memory.objects.visible_to(caller).readable().filter(pk=memory_id).first()
    if memory is None:
        raise not_found_error(memory_id)
    caller.require(role, memory.project_id)
    found: Memory = memory
    return found


def not_found_error(memory_id: uuid.UUID) -> errors.NotFound:
    detail = f"There is no memory {memory_id}, or it has expired."
    return errors.NotFound(detail, missing_ids=[str(memory_id)])


def missing_error(ids: Sequence[object], *, field: str) -> errors.NotFound:
    """Return the refusal of a request whose `field` names memories that do not exist."""
    missing = [str(memory_id) for memory_id in ids]
    detail = f"There is no memory {', '.join(missing)}."
    return errors.NotFound(detail, errors={field: [detail]}, missing_ids=missing)


def project_of(memory_id: uuid.UUID, caller: Caller) -> uuid.UUID | None:
    """Return the project of a visible memory, even of a deleted one."""
    rows = Memory.objects.visible_to(caller).filter(pk=memory_id)
    return rows.values_list("project_id", flat=True).first()


def lock_memory(memory: Memory, version: int | None = None) -> Memory:
    """Lock a memory until the transaction ends.

    Refuse if `version` is given and the memory has a different version.
    """
    locked = Memory.objects.select_for_update(no_key=True).filter(pk=memory.pk).first()
    if locked is None:
        raise not_found_error(memory.pk)
    if locked.deleted_at and redaction.is_redacted(locked.content):
        detail = f"Memory {memory.pk} was purged; its text is gone."
        raise errors.NotFound(detail, missing_ids=[str(memory.pk)])
    if version is not None and locked.version != version:
        raise errors.StaleVersion(current_version=locked.version)
    result: Memory = locked
    return result


def lock_undeleted(memory: Memory, version: int | None = None) -> Memory:
    """Lock a memory. Refuse if the memory was deleted after it had been read."""
    locked = lock_memory(memory, version)
    if locked.deleted_at:
        raise not_found_error(memory.pk)
    return locked

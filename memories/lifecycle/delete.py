"""Delete one memory, or all memories of a scope.

The rows stay in the table and are marked as deleted.
"""

from __future__ import annotations

import uuid

from django.utils import timezone

from common import errors
from common.caller import Caller, Role
from common.db import write
from memories.lifecycle.lookup import lock_undeleted
from memories.models import Memory, MemoryChange
from memories.scopes import Scope
from memories.store import history, originals
from projects.models import Project


@write
def delete_memory(memory_id: uuid.UUID, caller: Caller, *, reason: str = "") -> bool:
    """Delete a memory softly; return whether a memory was deleted.

    An expired memory is deleted too. Deleting is idempotent: an id that is unknown,
    invisible or already deleted is no error.
    """
    rows = Memory.objects.visible_to(caller).filter(pk=memory_id, deleted_at=None)
    memory = rows.first()
    if memory is None:
        return False
    caller.require(Role.WRITER, memory.project_id)
    try:
        locked = lock_undeleted(memory)
    except errors.NotFound:
        return False
    soft_delete(locked, caller, reason)
    return True


@write
def delete_scope(project: Project, scope: Scope, caller: Caller) -> int:
    """Delete every row of exactly this scope; return the number of deleted rows.

    Expired rows are deleted too. A writer whose key is bound to a user may delete the
    sessions of this user; for every other scope, the caller must be a curator.
    """
    is_own = (
        scope.kind == "session" and bool(scope.user) and scope.user == caller.user_id
    )
    caller.require(Role.WRITER if is_own else Role.CURATOR, project.pk)
    rows = (
        Memory.objects.visible_to(caller)
        .filter(project=project, scope_hash=scope.hash, deleted_at=None)
        .order_by("pk")
        .light()
    )
    count, derived = 0, []
    locked = rows.select_for_update(no_key=True, of=("self",))
    for memory in locked.iterator(chunk_size=500):
        soft_delete(memory, caller, "its scope was deleted", has_successor=False)
        count += 1
        if memory.is_derived:
            derived.append(memory.pk)
    # The sources of derived memories may have duplicates in another scope.
    for memory in Memory.objects.filter(pk__in=derived).light().order_by("pk"):
        originals.release(memory, caller)
    return count


def soft_delete(
    memory: Memory,
    caller: Caller,
    reason: str,
    *,
    has_successor: bool = True,
    retired_into: Memory | None = None,
) -> None:
    """Delete a memory that the caller has locked.

    If `has_successor` is true, a duplicate of the memory becomes the new original.
    """
    before = history.snapshot(memory)
    memory.deleted_at = timezone.now()
    memory.deleted_by = caller.name[:200]
    memory.delete_reason = reason[:500]
    memory.retired_into = retired_into.pk if retired_into else None
    memory.version += 1
    memory.save()
    action = MemoryChange.Action.DELETE
    history.record(caller, action, memory, before=before, reason=reason)
    if has_successor:
        originals.release(memory, caller)

"""Confirm that a memory still holds."""

from __future__ import annotations

from django.db.models import OuterRef, Subquery
from django.utils import timezone

from common.caller import Caller, Role
from common.db import write
from memories.lifecycle.lookup import lock_undeleted
from memories.models import File, Memory, MemoryChange
from memories.store import history


@write
def verify_memory(memory: Memory, caller: Caller, *, note: str = "") -> Memory:
    """Confirm that a memory still holds.

    Its file links are then no longer marked as suspect.
    """
    caller.require(Role.WRITER, memory.project_id)
    memory = lock_undeleted(memory)
    before = history.snapshot(memory)
    memory.verified_at = timezone.now()
    memory.version += 1
    memory.save(update_fields=["verified_at", "version", "updated_at"])
    present = File.objects.filter(pk=OuterRef("file_id")).values("last_content_hash")
    memory.file_links.update(suspect_since=None, content_hash=Subquery(present))
    action = MemoryChange.Action.VERIFY
    history.record(caller, action, memory, before=before, reason=note)
    return memory

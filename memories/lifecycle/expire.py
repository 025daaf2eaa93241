"""Archive memories that have expired."""

from __future__ import annotations

import uuid

from django.utils import timezone

from common.caller import Caller
from common.db import write
from memories.models import Memory
from memories.store import originals

# ids that are read at a time; each memory is archived in its own transaction
EXPIRY_BATCH = 500


def archive_expired(caller: Caller) -> int:
    """Archive the expired memories of all projects; return their number.

    Reads leave a memory out from the moment it expires, even before it is archived.
    """
    expired = Memory.objects.filter(
        expires_at__lt=timezone.now(), archived_at=None, deleted_at=None
    )
    ids = expired.order_by("pk").values_list("pk", flat=True)
    count, last = 0, uuid.UUID(int=0)
    while chosen := list(ids.filter(pk__gt=last)[:EXPIRY_BATCH]):
        last = chosen[-1]
        count += sum(_archive(memory_id, caller) for memory_id in chosen)
    return count


@write
def _archive(memory_id: uuid.UUID, caller: Caller) -> bool:
    memory = (
        Memory.objects.select_for_update(no_key=True)
        .filter(pk=memory_id, expires_at__lt=timezone.now(), archived_at=None)
        .first()
    )
    if memory is None:
        return False
    originals.archive(memory, caller, reason="expired")
    return True

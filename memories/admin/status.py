"""The status of a memory, for admin pages."""

from __future__ import annotations

from django.utils import timezone

from memories.models import Memory

MEMORY = "memories_memory"


STATUSES = {
    "current": "success",
    "duplicate": "info",
    "superseded": "warning",
    "expired": "warning",
    "archived": "default",
    "deleted": "danger",
}


def status_of(memory: Memory) -> str:
    """Return the reason why reads leave a memory out, or `current` if they return it."""
    if memory.deleted_at:
        return "deleted"
    if memory.archived_at:
        return "archived"
    if memory.superseded_by_id:
        return "superseded"
    if memory.expires_at and memory.expires_at < timezone.now():
        return "expired"
    return "duplicate" if memory.is_duplicate else "current"

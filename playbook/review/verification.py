"""A person says that an entry still holds."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.utils import timezone

from common.caller import Caller, Role
from common.db import write
from playbook.entries import freshness
from playbook.history import operations
from playbook.history.revision import Cause, Revision, lock_playbook
from playbook.models import PlaybookEntry


@write
def verify(
    entry: PlaybookEntry,
    caller: Caller,
    *,
    note: str = "",
    review_after: datetime | None = None,
    version: int | None = None,
) -> PlaybookEntry:
    """Make an entry fresh again by a change that can be reverted.

    It is looked at again at `review_after`, else when the project's setting says, else
    when it was going to be. Raises StaleEntry, and EntryState unless it is live.
    """
    caller.require(Role.CURATOR, entry.project_id)
    revision = Revision(lock_playbook(entry.project), caller, Cause(reason=note))
    held = _lock_entry(entry.pk)
    operations.refuse_stale(held, version)
    revision.confirm(held, review_after or _next_review(held))
    revision.close()
    return held


def _lock_entry(entry_id: uuid.UUID) -> PlaybookEntry:
    rows = PlaybookEntry.objects.light().select_related("project")
    held: PlaybookEntry = rows.get(pk=entry_id)
    if not held.is_live:
        raise operations.EntryState(
            f"{held.label} is {held.status}; restore it before you verify it."
        )
    return held


def _next_review(entry: PlaybookEntry) -> datetime | None:
    by_setting = freshness.next_review(entry.project, timezone.now())
    return by_setting or (
        None if freshness.is_due(entry.review_after) else entry.review_after
    )

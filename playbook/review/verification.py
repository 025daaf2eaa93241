"""Verify an entry: a person confirms that the entry still holds."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db.models import F
from django.utils import timezone

from common.caller import Caller, Role
from common.db import write
from playbook.entries import freshness
from playbook.history import operations
from playbook.history.revision import Cause, Revision, lock_playbook
from playbook.models import PlaybookDelta, PlaybookEntry


@write
def verify(
    entry: PlaybookEntry,
    caller: Caller,
    *,
    note: str = "",
    review_after: datetime | None = None,
    version: int | None = None,
) -> PlaybookEntry:
    """Confirm an entry by a change that can be reverted.

    The next review is at `review_after`. Without `review_after`, the next review
    follows after the project's review period. If the project has no review period, a
    review time in the future stays. What put the entry in doubt is rejected. Raises StaleEntry, and raises EntryState unless the
    entry is active.
    """
    caller.require(Role.CURATOR, entry.project_id)
    revision = Revision(lock_playbook(entry.project), caller, Cause(reason=note))
    locked_entry = _lock_entry(entry.pk)
    operations.refuse_stale(locked_entry, version)
    revision.confirm(locked_entry, review_after or _next_review(locked_entry))
    revision.close()
    _end_doubts(locked_entry, caller, note)
    return locked_entry


def _end_doubts(entry: PlaybookEntry, caller: Caller, note: str) -> None:
    """Reject the waiting proposals that put the entry in doubt."""
    PlaybookDelta.objects.casting_doubt().filter(entry=entry).update(
        status=PlaybookDelta.DeltaStatus.REJECTED,
        reviewer=caller.name[:200],
        review_note=f"{entry.label} was confirmed. {note}".strip()[:1000],
        reviewed_at=timezone.now(),
        version=F("version") + 1,
    )


def _lock_entry(entry_id: uuid.UUID) -> PlaybookEntry:
    rows = PlaybookEntry.objects.light().select_related("project")
    locked_entry: PlaybookEntry = rows.get(pk=entry_id)
    if not locked_entry.is_live:
        raise operations.EntryState(
            f"{locked_entry.label} is {locked_entry.status}; restore it before you verify it."
        )
    return locked_entry


def _next_review(entry: PlaybookEntry) -> datetime | None:
    by_setting = freshness.next_review(entry.project, timezone.now())
    return by_setting or (
        None if freshness.is_due(entry.review_after) else entry.review_after
    )

"""Undo an applied delta by a new change; nothing is ever taken out of the history."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from audit import recording
from common import errors
from common.caller import Caller, Role
from common.writing import write
from memories.models import Memory
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.revisions import COUNTERS, SUPPORTS, Cause, Revision, State, hold, state

# What every change moves, so that it tells nothing of an overlap.
STAMPS = {"version", "updated_at"}
MOMENTS = {"verified_at", "review_after"}


class Overlap(errors.Conflict):
    """A later change touched the same columns; undo that one first."""

    code = "overlap"


class NotApplied(errors.Conflict):
    """Only a delta that is in force can be undone."""

    code = "not_applied"


@write
def undo(delta: PlaybookDelta, caller: Caller, *, reason: str = "") -> PlaybookDelta:
    """Take back what a delta did, or refuse with what stands in the way.

    Counters are moved back by the step they took, so that later votes stay.
    """
    caller.require(Role.CURATOR, delta.project_id)
    playbook = hold(delta.project)
    delta = PlaybookDelta.objects.select_for_update(no_key=True).get(pk=delta.pk)
    if delta.status not in PlaybookDelta.IN_FORCE:
        raise NotApplied(f"This delta is {delta.status}; only one in force is undone.")
    done = PlaybookChange.objects.filter(delta_id=delta.pk, reverts_id=None)
    changes = list(done.order_by("-revision", "-position"))
    entries = PlaybookEntry.objects.light().in_bulk({c.entry_id for c in changes})
    _refuse_overlap(changes, entries)
    cause = Cause(
        reason=reason or f"Undone by {caller.name}.",
        delta_id=delta.pk,
        run_id=delta.run_id,
        memory_id=delta.memory_id,
    )
    revision = Revision(playbook, caller, cause)
    for change in changes:
        _take_back(revision, entries[change.entry_id], change)
    revision.close()
    delta.status = PlaybookDelta.Status.REVERTED
    delta.reviewer = caller.name[:200]
    delta.review_note = reason[:1000]
    delta.reviewed_at = timezone.now()
    delta.version += 1
    delta.save()
    recording.record(
        caller,
        "delta.undo",
        project_id=delta.project_id,
        object_type="playbook_delta",
        object_id=delta.pk,
    )
    return delta


def _refuse_overlap(
    changes: Sequence[PlaybookChange], entries: Mapping[uuid.UUID, PlaybookEntry]
) -> None:
    """What the delta left must be there still, but for counters and supports."""
    left: dict[uuid.UUID, State] = {}
    for change in changes:
        # Newest first: the older value of a column was left by nobody.
        left[change.entry_id] = change.after | left.get(change.entry_id, {})
    overlaps = []
    for entry_id, after in left.items():
        present = state(entries[entry_id])
        moved = [n for n in _steady(after) if present[n] != after[n]]
        if moved:
            overlaps.append(f"{entries[entry_id].label} ({', '.join(sorted(moved))})")
    if overlaps:
        raise Overlap(
            f"Later changes touched {'; '.join(overlaps)}. Undo those changes first."
        )


def _steady(columns: State) -> list[str]:
    return [n for n in columns if n not in {*STAMPS, *COUNTERS, SUPPORTS}]


def _take_back(
    revision: Revision, entry: PlaybookEntry, change: PlaybookChange
) -> None:
    reverts = change.pk
    if change.operation == PlaybookChange.Operation.ADD:
        changed = {"status": PlaybookEntry.Status.DELETED}
        revision.change(entry, "revert", changed, reverts=reverts)
        return
    before, after = change.before, change.after
    if steps := {n: before[n] - after[n] for n in COUNTERS if n in before}:
        revision.count(entry, steps, action="revert", reverts=reverts)
    if SUPPORTS in before:
        came, went = (_ids(side[SUPPORTS]) for side in (after, before))
        left = Memory.objects.filter(pk__in=went).values_list("pk", flat=True)
        revision.support(
            entry,
            gained=[pk for pk in went if pk in set(left)],
            lost=came,
            action="revert",
            reverts=reverts,
        )
    if columns := {name: _value(name, before[name]) for name in _steady(before)}:
        revision.change(entry, "revert", columns, reverts=reverts)


def _ids(texts: Sequence[str]) -> list[uuid.UUID]:
    return [uuid.UUID(text) for text in texts]


def _value(name: str, stored: Any) -> Any:
    """A column's Python value from its JSON-friendly one."""
    if name in MOMENTS:
        return parse_datetime(stored) if stored else None
    if name == "superseded_by_id":
        return uuid.UUID(stored) if stored else None
    return _ids(stored) if name == "merged_from" else stored

"""Open and close conflicts when the rules that they name change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db.models import Q, QuerySet
from django.utils import timezone

from audit import trail
from common import errors
from common.caller import Caller
from common.db import write
from playbook.conflicts import conflict_list, conflict_sides, settled_reason
from playbook.conflicts.settled_reason import SettledReason
from playbook.entries.neighbours import Neighbour
from playbook.models import Conflict, PlaybookChange, PlaybookDelta, PlaybookEntry

State = Conflict.ConflictStage
# Columns that decide whether two rules contradict each other.
DECISIVE_COLUMNS = {"status", "content", "condition"}


class ConflictState(errors.StateConflict):
    """The conflict is already decided."""

    code = "conflict_state"


def open_conflicts(delta: PlaybookDelta, contradicted: Iterable[Neighbour]) -> None:
    """Open a conflict of a waiting delta with each entry that it contradicts.

    A quarantined delta opens no conflict by itself. The conflict opens once a person
    accepts the delta.
    """
    if delta.status == delta.DeltaStatus.PENDING and delta.risk != "quarantine":
        for near in contradicted:
            open_conflict(delta, near)


def open_conflict(delta: PlaybookDelta, near: Neighbour) -> Conflict:
    """Open a conflict of a delta with an entry, and return it.

    If the pair already has an open conflict, that conflict is returned.
    """
    earlier = Conflict.objects.unresolved().of_pair(near.entry, delta)
    if found := earlier.order_by("pk").first():
        conflict: Conflict = found
        return conflict
    opened, _ = Conflict.objects.update_or_create(
        left=near.entry,
        right=delta.entry if delta.entry_id != near.entry.pk else None,
        delta=delta,
        defaults={
            "project_id": delta.project_id,
            "reason": _reason(near),
            "state": State.OPEN,
            "note": "",
            "decided_by": "",
            "decided_at": None,
            "decided_with": [],
        },
    )
    return opened


def open_active(
    older: PlaybookEntry, newer: PlaybookEntry, near: Neighbour, caller: Caller
) -> bool:
    """Open the first conflict of two active entries; return whether it is new."""
    conflict, is_new = Conflict.objects.get_or_create(
        left=older,
        right=newer,
        delta=None,
        defaults={"project_id": older.project_id, "reason": _reason(near)},
    )
    if is_new:
        audit(conflict, caller, "open")
    return is_new


def _reason(near: Neighbour) -> str:
    cosine = f"cosine {near.similarity}, but " if near.similarity else ""
    return f"{cosine}{near.disagreement}"[:500]


def update_conflicts(
    changes: Sequence[PlaybookChange],
    caller: Caller,
    *,
    delta: PlaybookDelta | None = None,
    toggled: Sequence[PlaybookDelta] = (),
) -> None:
    """Close the conflicts that the changes settle, and reopen conflicts that hold again.

    A person's decision stays. `delta` is recorded with the conflicts that it closes.
    `toggled` are the deltas that the changes put in force or took out of force.
    """
    entry_ids = {
        change.entry_id for change in changes if DECISIVE_COLUMNS & change.after.keys()
    }
    if not (entry_ids or toggled):
        return
    of_entries = (
        Q(left__in=entry_ids) | Q(right__in=entry_ids) | Q(delta__entry__in=entry_ids)
    )
    rows = Conflict.objects.filter(project_id=changes[0].project_id).filter(
        of_entries | Q(delta__in=[one.pk for one in toggled]),
        Q(state=State.OPEN) | Q(decided_by=""),
    )
    for conflict in conflict_list.with_sides(rows).select_for_update(of=("self",)):
        reason = settled_reason.find_reason(conflict_sides.sides_of(conflict))
        if reason and conflict.state == State.OPEN:
            _close(conflict, reason, caller, delta)
        elif reason is None and conflict.state != State.OPEN:
            _open(conflict, caller)


@write
def close_conflict(conflict: Conflict, reason: SettledReason, caller: Caller) -> None:
    """Close an open conflict in which nothing is left to decide."""
    _close_all(Conflict.objects.filter(pk=conflict.pk), reason, caller)


def close_for_rejection(delta: PlaybookDelta, caller: Caller) -> None:
    """Close the conflicts of a proposal that a person rejected."""
    reason = SettledReason(State.REJECTED, f"the proposal {delta.pk} is rejected")
    rows = Conflict.objects.filter(delta=delta)
    _close_all(rows, reason, caller, delta)
    # A decision for the proposal waited for the decisions about its other conflicts.
    decided = rows.filter(decided_with__contains=[delta.pk])
    for conflict in decided.exclude(state=State.REJECTED):
        _close(conflict, reason, caller, delta)


def _close_all(
    rows: QuerySet[Conflict],
    reason: SettledReason,
    caller: Caller,
    delta: PlaybookDelta | None = None,
) -> None:
    for conflict in rows.filter(state=State.OPEN).select_for_update(of=("self",)):
        _close(conflict, reason, caller, delta)


def _close(
    conflict: Conflict,
    reason: SettledReason,
    caller: Caller,
    delta: PlaybookDelta | None,
) -> None:
    conflict.note = f"Closed by itself: {reason.text}."
    conflict.decided_at = timezone.now()
    _save(conflict, reason.state, [delta] if delta else [])
    audit(conflict, caller, "close")


def _open(conflict: Conflict, caller: Caller) -> None:
    conflict.note, conflict.decided_at = "", None
    _save(conflict, State.OPEN, [])
    audit(conflict, caller, "open")


def _save(
    conflict: Conflict,
    state: Conflict.ConflictStage,
    decided_with: Sequence[PlaybookDelta],
) -> None:
    conflict.state, conflict.decided_by = state, ""
    conflict.decided_with = [delta.pk for delta in decided_with]
    conflict.save(
        update_fields=["state", "note", "decided_by", "decided_at", "decided_with"]
    )


def audit(conflict: Conflict, caller: Caller, verb: str) -> None:
    trail.record(
        caller,
        f"conflict.{verb}",
        project_id=conflict.project_id,
        object_type="playbook_conflict",
        object_id=conflict.pk,
        state=conflict.state,
        deltas=[str(pk) for pk in conflict.decided_with],
    )

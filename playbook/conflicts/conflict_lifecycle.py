"""Conflicts come and go by themselves, with the rules that they are about."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q, QuerySet
from django.utils import timezone

from audit import trail
from common import errors
from common.caller import Caller
from common.db import write
from playbook.conflicts import conflict_list, conflict_sides, settled_reason
from playbook.conflicts.settled_reason import SettledReason
from playbook.entries.matches import Match
from playbook.models import Conflict, PlaybookChange, PlaybookDelta

State = Conflict.ConflictStage
# Columns that say whether two rules cannot both hold.
DECISIVE_COLUMNS = {"status", "content", "condition"}


class ConflictState(errors.StateConflict):
    """The conflict is decided already."""

    code = "conflict_state"


def open_conflict(delta: PlaybookDelta, match: Match) -> None:
    """File a conflict of two rules that cannot both hold, unless one was refused.

    What waits in quarantine takes no rule from the agents; accepted, it is filed.
    """
    near, is_waiting = match.neighbour, delta.status == delta.DeltaStatus.PENDING
    if match.verdict != "against" or near is None:
        return
    if delta.status not in delta.IN_FORCE and not is_waiting:
        return
    if is_waiting and delta.risk == "quarantine":
        return
    if Conflict.objects.undecided().of_pair(near.entry, delta).exists():
        return
    Conflict.objects.update_or_create(
        left=near.entry,
        right=delta.entry if delta.entry_id != near.entry.pk else None,
        delta=delta,
        defaults={
            "project_id": delta.project_id,
            "reason": f"cosine {near.similarity}, but {near.disagreement}"[:500],
            "state": State.OPEN,
        },
    )


def update_conflicts(
    changes: Sequence[PlaybookChange],
    caller: Caller,
    *,
    delta: PlaybookDelta | None = None,
    turned: Sequence[PlaybookDelta] = (),
) -> None:
    """Close the conflicts that changes have settled; open those that hold once more.

    What a person decided stays decided. The delta is noted with what it closes;
    `turned` are those that came in force or went out of it with the changes.
    """
    moved = {
        change.entry_id for change in changes if DECISIVE_COLUMNS & change.after.keys()
    }
    if not (moved or turned):
        return
    of_entries = Q(left__in=moved) | Q(right__in=moved) | Q(delta__entry__in=moved)
    rows = Conflict.objects.filter(project_id=changes[0].project_id).filter(
        of_entries | Q(delta__in=[one.pk for one in turned]),
        Q(state=State.OPEN) | Q(decided_by=""),
    )
    for conflict in conflict_list.with_sides(rows).select_for_update(of=("self",)):
        found = settled_reason.find_reason(conflict_sides.sides_of(conflict))
        if found and conflict.state == State.OPEN:
            _close(conflict, found, caller, delta)
        elif found is None and conflict.state != State.OPEN:
            _open(conflict, caller)


@write
def close_conflict(conflict: Conflict, found: SettledReason, caller: Caller) -> None:
    """Note that nothing is left to decide; once, whoever notices it."""
    _close_all(Conflict.objects.filter(pk=conflict.pk), found, caller)


def close_for_rejection(delta: PlaybookDelta, caller: Caller) -> None:
    """Close the conflicts of a proposal that a person has rejected."""
    found = SettledReason(State.REJECTED, f"the proposal {delta.pk} is rejected")
    _close_all(Conflict.objects.filter(delta=delta), found, caller, delta)


def reopen_conflict(conflict: Conflict, caller: Caller) -> None:
    """Let a conflict wait whose decision a person has taken back."""
    _open(conflict, caller, verb="reopen")


def _close_all(
    rows: QuerySet[Conflict],
    found: SettledReason,
    caller: Caller,
    delta: PlaybookDelta | None = None,
) -> None:
    for conflict in rows.filter(state=State.OPEN).select_for_update(of=("self",)):
        _close(conflict, found, caller, delta)


def _close(
    conflict: Conflict,
    found: SettledReason,
    caller: Caller,
    delta: PlaybookDelta | None,
) -> None:
    conflict.note = f"Closed by itself: {found.words}."
    conflict.decided_at = timezone.now()
    _save(conflict, found.state, [delta] if delta else [])
    audit(conflict, caller, "close")


def _open(conflict: Conflict, caller: Caller, verb: str = "open") -> None:
    conflict.note, conflict.decided_at = "", None
    _save(conflict, State.OPEN, [])
    audit(conflict, caller, verb)


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

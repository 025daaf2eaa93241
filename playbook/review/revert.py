"""Take back changes by new ones; nothing is ever taken out of the history."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils import timezone

from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from playbook.conflicts import conflict_lifecycle
from playbook.history import change_chains, undo_changes
from playbook.history.change_chains import Chain
from playbook.history.revision import Cause, Revision, lock_playbook
from playbook.models import Conflict, PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.queries import PlaybookChangeQuerySet
from playbook.reading import delta_list, past_revisions
from playbook.review import delta_review
from projects.models import Project

Status = PlaybookDelta.DeltaStatus
# Changes that one revert takes back: a revision numbers its changes in 15 bits.
MAX_CHANGES = 20_000
MAX_LISTED = 100  # obstacles named in a refusal
REVIEW_COLUMNS = ("status", "reviewer", "review_note", "reviewed_at")
# In the payload of a delta that was taken back: what it was before.
BEFORE_REVERT = "before_revert"


class Overlap(errors.StateConflict):
    """A later change touched the same columns; undo that one first."""

    code = "overlap"


class NotApplied(errors.StateConflict):
    """Only a delta that is in force can be undone."""

    code = "not_applied"


class NothingToRevert(errors.StateConflict):
    """None of these changes is in force any more, or there are none."""

    code = "nothing_to_revert"


class TooManyChanges(errors.Refusal):
    """A revert takes back so many changes at most; begin with the newest ones."""

    code = "too_many_changes"


@dataclass(frozen=True)
class RevertTarget:
    """What a revert takes back. `of` picks the chains to move; `words` names it."""

    rows: PlaybookChangeQuerySet
    description: str
    selects: Callable[[Chain, set[uuid.UUID]], bool] = Chain.is_moved_by


@dataclass(frozen=True)
class RevertResult:
    """The new changes, and the entries and deltas that are otherwise now."""

    revision: int
    changes: list[PlaybookChange]
    entries: list[PlaybookEntry]
    deltas: list[PlaybookDelta]
    notes: tuple[str, ...] = ()


def change_target(
    project: Project, change_id: uuid.UUID, caller: Caller
) -> RevertTarget:
    """One change; of a revert, so that what it took back is in force again."""
    rows = _visible_changes(project, caller).filter(pk=change_id)
    if not rows.exists():
        raise errors.NotFound(f"There is no change {change_id} in this project.")
    return RevertTarget(rows, f"change {change_id}")


def delta_target(project: Project, delta_id: uuid.UUID, caller: Caller) -> RevertTarget:
    """A delta in force; of one that was taken back, the revert of what it did last."""
    found = delta_list.get(delta_id, caller)
    if found.project_id != project.pk:
        raise errors.NotFound(f"There is no delta {delta_id} in this project.")
    rows = _visible_changes(project, caller).filter(delta_id=delta_id, reverts_id=None)
    target = RevertTarget(rows, f"delta {delta_id}", _is_picked)
    if found.status == Status.REVERTED:
        # One that was reopened and applied anew has an older revision, too.
        last = rows.order_by("-revision").values("revision")[:1]
        rows = rows.filter(revision=last)
        return replace(target, rows=rows, selects=_is_picked_and_out_of_force)
    if found.status not in PlaybookDelta.IN_FORCE:
        raise NotApplied(f"This delta is {found.status}; only one in force is undone.")
    return target


def run_target(project: Project, run_id: uuid.UUID, caller: Caller) -> RevertTarget:
    """What a finished task changed: its deltas, votes and supports."""
    rows = _visible_changes(project, caller).filter(run_id=run_id, reverts_id=None)
    return RevertTarget(rows, f"run {run_id}", _is_picked)


def range_target(
    project: Project, first: int, last: int | None, caller: Caller
) -> RevertTarget:
    """Every change after revision `first`, up to `last` or to the present one."""
    if first > past_revisions.current_revision(project, caller):
        raise past_revisions.UnknownRevision(
            f"The playbook has no revision {first} yet."
        )
    rows = _visible_changes(project, caller).filter(revision__gt=first)
    if last is None:
        return RevertTarget(rows, f"everything after revision {first}")
    rows = rows.filter(revision__lte=last)
    return RevertTarget(rows, f"revisions {first + 1} to {last}")


def _visible_changes(project: Project, caller: Caller) -> PlaybookChangeQuerySet:
    caller.require(Role.CURATOR, project.pk)
    rows: PlaybookChangeQuerySet = PlaybookChange.objects.visible_to(caller)
    return rows.filter(project_id=project.pk)


def _is_picked(chain: Chain, selected: set[uuid.UUID]) -> bool:
    return chain.root.pk in selected and chain.is_in_force


def _is_picked_and_out_of_force(chain: Chain, selected: set[uuid.UUID]) -> bool:
    return chain.root.pk in selected and not chain.is_in_force


@write
def undo_delta(
    done: PlaybookDelta,
    caller: Caller,
    *,
    reason: str = "",
    version: int | None = None,
) -> PlaybookDelta:
    """Take back what a delta did, or refuse with what stands in the way."""
    held = _lock_delta(done, caller, version)
    if held.status not in PlaybookDelta.IN_FORCE:
        raise NotApplied(f"This delta is {held.status}; only one in force is undone.")
    return _revert_delta(done, caller, reason)


@write
def redo_delta(
    undone: PlaybookDelta,
    caller: Caller,
    *,
    reason: str = "",
    version: int | None = None,
) -> PlaybookDelta:
    """Put what a delta did in force again, once it was taken back."""
    held = _lock_delta(undone, caller, version)
    if held.status != Status.REVERTED:
        raise delta_review.DeltaState(
            f"This delta is {held.status}; only one that was undone is redone."
        )
    return _revert_delta(undone, caller, reason)


def _lock_delta(
    delta: PlaybookDelta, caller: Caller, version: int | None
) -> PlaybookDelta:
    """The delta as it is under the playbook's lock, at the version that was read."""
    caller.require(Role.CURATOR, delta.project_id)
    lock_playbook(delta.project)
    held: PlaybookDelta = PlaybookDelta.objects.get(pk=delta.pk)
    delta_review.refuse_other_version(held, version)
    return held


def _revert_delta(turned: PlaybookDelta, caller: Caller, reason: str) -> PlaybookDelta:
    target = delta_target(turned.project, turned.pk, caller)
    revert_changes(turned.project, target, caller, reason=reason)
    turned.refresh_from_db()
    return turned


@write
def revert_changes(
    project: Project, target: RevertTarget, caller: Caller, *, reason: str = ""
) -> RevertResult:
    """Take back the changes of a target as one revision, or refuse.

    Counters and supports are moved back by the step they took, so that later votes
    stay. Raises NothingToRevert, TooManyChanges, DeltaState, Overlap, DuplicateEntry,
    OverBudget.
    """
    caller.require(Role.CURATOR, project.pk)
    playbook = lock_playbook(project)
    selected = set(target.rows.values_list("pk", flat=True))
    if len(selected) > MAX_CHANGES:
        # Before they are loaded, which so many votes would take too long.
        _refuse_too_many(target.rows.never_reverted().count())
    around = change_chains.chains_around(target.rows)
    moved = [chain for chain in around if target.selects(chain, selected)]
    if not moved:
        raise NothingToRevert(f"Nothing of {target.description} is in force.")
    _refuse_too_many(len(moved))
    moved, notes = _without_waiting(moved)
    _refuse_overlap(moved, around)
    cause = Cause(reason=reason or f"{caller.name} took back {target.description}.")
    revision = Revision(playbook, caller, cause)
    unwound = undo_changes.undo(revision, [chain.tail for chain in moved])
    changes = revision.close()
    deltas = _mark_deltas(project, moved, caller, reason)
    conflict_lifecycle.update_conflicts(changes, caller, toggled=deltas)
    notes += unwound.notes
    return RevertResult(revision.number, changes, unwound.entries, deltas, tuple(notes))


def _refuse_too_many(number: int) -> None:
    if number > MAX_CHANGES:
        raise TooManyChanges(
            f"A revert takes back at most {MAX_CHANGES} changes, and these are {number}; "
            "begin with the newest ones."
        )


def _without_waiting(moved: Sequence[Chain]) -> tuple[list[Chain], list[str]]:
    """Without what a decision alone puts in force: the deltas that wait again.

    And a note for each. A revert of nothing else is refused.
    """
    roots = [chain.root for chain in moved if not chain.is_in_force]
    named = [root.delta_id for root in roots if root.delta_id]
    decided = (*PlaybookDelta.IN_FORCE, Status.REVERTED)
    rows = PlaybookDelta.objects.filter(pk__in=named).exclude(status__in=decided)
    waiting = {delta.pk: delta for delta in rows.order_by("pk")}
    left = [
        chain
        for chain in moved
        if chain.is_in_force or chain.root.delta_id not in waiting
    ]
    notes = [
        f"Delta {delta.pk} is {delta.status} since it was reopened, and is not put in "
        "force; accept it instead."
        for delta in waiting.values()
    ]
    if not left:
        raise delta_review.DeltaState(notes[0])
    return left, notes


def _refuse_overlap(moved: Sequence[Chain], around: Sequence[Chain]) -> None:
    found = change_chains.find_obstacles(moved, around)
    if not found:
        return
    told = [
        f"{o.change.entry_label} ({', '.join(sorted(o.columns))}; "
        f"{o.change.action} at revision {o.change.revision} by {o.change.actor})"
        for o in found[:MAX_LISTED]
    ]
    more = f" and {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
    raise Overlap(
        f"Later changes touched {'; '.join(told)}{more}. Undo those changes first.",
        overlaps=[o.details for o in found[:MAX_LISTED]],
    )


# What becomes of the deltas


def _mark_deltas(
    project: Project, moved: Sequence[Chain], caller: Caller, reason: str
) -> list[PlaybookDelta]:
    """A delta of which no change is in force is reverted; else it is what it was."""
    named = {chain.root.delta_id for chain in moved} - {None}
    rows = PlaybookChange.objects.filter(project_id=project.pk, delta_id__in=named)
    kept = rows.in_order().only("id", "revision", "position", "reverts_id", "delta_id")
    in_force = {
        c.root.delta_id for c in change_chains.build_chains(kept) if c.is_in_force
    }
    deltas = PlaybookDelta.objects.select_for_update(no_key=True).filter(pk__in=named)
    changed = []
    for delta in deltas.order_by("pk"):
        if delta.status in PlaybookDelta.IN_FORCE and delta.pk not in in_force:
            _mark_reverted(delta, caller, reason)
            changed.append(delta)
        elif delta.status == Status.REVERTED and delta.pk in in_force:
            _mark_in_force_again(delta)
            changed.append(delta)
    _open_conflicts(project, [d for d in changed if d.status == Status.REVERTED])
    _close_conflicts(project, changed)
    # As `unwinding` writes entries: each row is there, and is updated.
    PlaybookDelta.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=[*REVIEW_COLUMNS, "payload", "version"],
        batch_size=undo_changes.BATCH,
    )
    trail.record_all(_event(delta, caller) for delta in changed)
    return changed


def _mark_reverted(delta: PlaybookDelta, caller: Caller, reason: str) -> None:
    before = {name: getattr(delta, name) for name in REVIEW_COLUMNS}
    if before["reviewed_at"]:
        before["reviewed_at"] = before["reviewed_at"].isoformat()
    delta.payload = {**delta.payload, BEFORE_REVERT: before}
    delta.status = Status.REVERTED
    delta.reviewer = caller.name[:200]
    delta.review_note = reason[:1000]
    delta.reviewed_at = timezone.now()
    delta.version += 1


def _mark_in_force_again(delta: PlaybookDelta) -> None:
    # A playbook that was restored from its export has not kept it.
    before: dict[str, Any] = delta.payload.get(BEFORE_REVERT, {})
    delta.status = before.get("status", Status.APPLIED)
    delta.reviewer = before.get("reviewer", "")
    delta.review_note = before.get("review_note", "")
    reviewed_at = before.get("reviewed_at")
    delta.reviewed_at = datetime.fromisoformat(reviewed_at) if reviewed_at else None
    delta.version += 1


def _open_conflicts(project: Project, deltas: Sequence[PlaybookDelta]) -> None:
    """A decision that was taken back is to be made again; its delta keeps it."""
    by_id = {delta.pk: delta for delta in deltas}
    rows = Conflict.objects.filter(project=project, decided_with__overlap=list(by_id))
    for conflict in rows.exclude(state=Conflict.ConflictStage.OPEN):
        for pk in set(conflict.decided_with) & by_id.keys():
            _keep_decision(by_id[pk], conflict.pk, conflict.decision)
        conflict.state = Conflict.ConflictStage.OPEN
        conflict.save(update_fields=["state"])


def _keep_decision(
    delta: PlaybookDelta, conflict_id: uuid.UUID, decision: dict[str, Any]
) -> None:
    delta.payload[BEFORE_REVERT].setdefault("decisions", {})[str(conflict_id)] = (
        decision
    )


def _close_conflicts(project: Project, changed: Sequence[PlaybookDelta]) -> None:
    """A decision is in force again once all of its deltas are.

    Until then one of the others keeps it. What a person decided since stays.
    """
    decisions: dict[str, dict[str, Any]] = {}
    for delta in changed:
        if delta.status != Status.REVERTED:
            decisions |= delta.payload.pop(BEFORE_REVERT, {}).get("decisions", {})
    conflicts = Conflict.objects.filter(project=project, pk__in=decisions)
    by_id = {delta.pk: delta for delta in changed}
    for conflict in conflicts.filter(
        Q(state=Conflict.ConflictStage.OPEN) | Q(decided_by="")
    ):
        decision = decisions[str(conflict.pk)]
        rows = PlaybookDelta.objects.filter(pk__in=decision["decided_with"])
        made = [by_id.get(delta.pk, delta) for delta in rows]
        out = [delta for delta in made if delta.status not in PlaybookDelta.IN_FORCE]
        if not out:
            conflict.decide_again(decision)
        elif out[0].status == Status.REVERTED:
            _keep_decision(out[0], conflict.pk, decision)
            out[0].save(update_fields=["payload"])


def _event(delta: PlaybookDelta, caller: Caller) -> Any:
    is_undone = delta.status == Status.REVERTED
    return trail.build_event(
        caller,
        "delta.undo" if is_undone else "delta.redo",
        project_id=delta.project_id,
        object_type="playbook_delta",
        object_id=delta.pk,
    )

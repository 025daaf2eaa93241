"""Revert changes by new changes.

Nothing is ever removed from the history.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Min, Q
from django.utils import timezone

from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from playbook.history import undo_changes
from playbook.history.revision import Cause, Revision, lock_playbook
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.queries import USE_CHANGES, PlaybookChangeQuerySet
from playbook.reading import delta_list, past_revisions
from playbook.review import available, delta_review
from projects.models import Project

Status = PlaybookDelta.DeltaStatus
# The largest number of changes that one revert may undo. A revision numbers its changes
# in 15 bits.
MAX_CHANGES = 20_000
REVIEW_COLUMNS = ("status", "reviewer", "review_note", "reviewed_at")
# Key in the payload of a reverted delta. The value holds the delta's review columns
# before the revert.
BEFORE_REVERT = "before_revert"


class NothingToRevert(errors.StateConflict):
    """There are no such changes, or none of them is in force."""

    code = "nothing_to_revert"


class TooManyChanges(errors.Refusal):
    """A revert undoes a limited number of changes; begin with the newest ones."""

    code = "too_many_changes"


@dataclass(frozen=True)
class RevertTarget:
    """The changes that a revert undoes; with `redoes`, it undoes what reverted them."""

    rows: PlaybookChangeQuerySet
    description: str
    redoes: bool = False


@dataclass(frozen=True)
class RevertResult:
    """The new changes, and the entries and deltas that were changed."""

    revision: int
    changes: list[PlaybookChange]
    entries: list[PlaybookEntry]
    deltas: list[PlaybookDelta]
    notes: tuple[str, ...] = ()


def change_target(
    project: Project, change_id: uuid.UUID, caller: Caller
) -> RevertTarget:
    """Target one change.

    Reverting a revert puts the undone changes in force again.
    """
    rows = _visible_changes(project, caller).filter(pk=change_id)
    if not rows.exists():
        raise errors.NotFound(f"There is no change {change_id} in this project.")
    return RevertTarget(rows, f"change {change_id}")


def delta_target(project: Project, delta_id: uuid.UUID, caller: Caller) -> RevertTarget:
    """Target a delta that is in force, or the last revert of a reverted delta."""
    found = delta_list.get(delta_id, caller)
    if found.project_id != project.pk:
        raise errors.NotFound(f"There is no delta {delta_id} in this project.")
    rows = _visible_changes(project, caller).filter(delta_id=delta_id, reverts_id=None)
    available.require("undo", found, caller)
    is_undone = found.status == Status.REVERTED
    return RevertTarget(rows, f"delta {delta_id}", redoes=is_undone)


def run_target(project: Project, run_id: uuid.UUID, caller: Caller) -> RevertTarget:
    """Target everything that a finished task changed: deltas, votes and supports."""
    rows = _visible_changes(project, caller).filter(run_id=run_id, reverts_id=None)
    return RevertTarget(rows, f"run {run_id}")


def range_target(
    project: Project, first: int, last: int | None, caller: Caller
) -> RevertTarget:
    """Target every change after revision `first`, up to revision `last`.

    Without `last`, the newest revision is the end of the range.
    """
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


@write
def undo_delta(
    delta_to_undo: PlaybookDelta,
    caller: Caller,
    *,
    reason: str = "",
    version: int | None = None,
) -> PlaybookDelta:
    """Undo a delta that is in force, or the undo of a delta.

    An undo is undone only at the `version` that somebody has seen: of two people who undo
    a delta at once, the second must not put it in force again.

    Raises Overlap, which lists the changes that depend on the delta, and UnsafeText if an
    unsafe text would become live.
    """
    _, locked = delta_review.lock_delta(delta_to_undo, "undo", caller, version=version)
    if version is None and locked.status not in PlaybookDelta.IN_FORCE:
        raise available.NotInForce
    return _revert_delta(delta_to_undo, caller, reason)


def _revert_delta(delta: PlaybookDelta, caller: Caller, reason: str) -> PlaybookDelta:
    target = delta_target(delta.project, delta.pk, caller)
    revert_changes(delta.project, target, caller, reason=reason)
    delta.refresh_from_db()
    return delta


@write
def revert_changes(
    project: Project,
    target: RevertTarget,
    caller: Caller,
    *,
    reason: str = "",
) -> RevertResult:
    """Revert the changes of a target as one revision.

    Counters and supports change only by the difference, so that later votes stay.
    Raises NothingToRevert, TooManyChanges, DeltaState, Overlap, DuplicateEntry,
    OverBudget and UnsafeText.
    """
    caller.require(Role.CURATOR, project.pk)
    playbook = lock_playbook(project)
    selected = set(target.rows.values_list("pk", flat=True))
    if len(selected) > MAX_CHANGES:
        # The limit is checked before the changes are loaded, because loading so many
        # votes takes too long.
        _refuse_too_many(target.rows.never_reverted().count())
    chosen = _choose(target, selected)
    if not chosen:
        raise NothingToRevert(f"None of the changes is in force: {target.description}.")
    _refuse_too_many(len(chosen))
    cause = Cause(reason=reason or f"{caller.name} reverted {target.description}.")
    revision = Revision(playbook, caller, cause)
    undone = PlaybookChange.objects.filter(pk__in=chosen)
    undo_result = undo_changes.undo(revision, undone)
    changes = revision.close()
    deltas = _mark_deltas(project, undone, caller, reason)
    return RevertResult(
        revision.number, changes, undo_result.entries, deltas, tuple(undo_result.notes)
    )


def _choose(target: RevertTarget, selected: set[uuid.UUID]) -> set[uuid.UUID]:
    """Return the ids of the changes to undo: those in force, of which none undoes another."""
    first = target.rows.aggregate(first=Min("revision"))["first"]
    rows = PlaybookChange.objects.filter(
        project_id__in=target.rows.values("project_id"),
        entry_id__in=target.rows.values("entry_id"),
        revision__gte=first or 0,
    )
    # Thousands of votes may have come later; those that were reverted have a revert.
    rows = rows.filter(~USE_CHANGES | Q(pk__in=target.rows.values("pk")))
    around = list(rows.in_order().only("id", "reverts_id"))
    in_force = undo_changes.find_in_force(around)
    reverts = [row for row in around if row.reverts_id and row.pk in in_force]
    if target.redoes:
        return {row.pk for row in reverts if row.reverts_id in selected}
    chosen = set(selected)
    for row in reversed(around):
        if row.pk in chosen and row.reverts_id in chosen:
            chosen -= {row.pk, row.reverts_id}
    undone = {r.reverts_id for r in reverts if r.pk not in selected}
    chosen -= undone
    chains = _read_chains(chosen)
    # A redo of what has been undone once more puts nothing in force.
    return {pk for pk in chosen if undone.isdisjoint(chains[pk][2::2])}


def _read_chains(ids: set[uuid.UUID]) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Return for each change itself, the change that it reverts, the one that that reverts …"""
    chains = {pk: [pk] for pk in ids}
    growing = list(chains.values())
    while growing:
        rows = PlaybookChange.objects.filter(pk__in=[chain[-1] for chain in growing])
        reverted = dict(rows.exclude(reverts_id=None).values_list("pk", "reverts_id"))
        growing = [chain for chain in growing if chain[-1] in reverted]
        for chain in growing:
            chain.append(reverted[chain[-1]])
    return chains


def _refuse_too_many(number: int) -> None:
    if number > MAX_CHANGES:
        raise TooManyChanges(
            f"A revert undoes at most {MAX_CHANGES} changes, and these are {number}; "
            "begin with the newest ones."
        )


# Statuses of the deltas


def _mark_deltas(
    project: Project, undone: PlaybookChangeQuerySet, caller: Caller, reason: str
) -> list[PlaybookDelta]:
    """Mark deltas as reverted if none of their changes is in force.

    The other deltas get back the status from before their revert.
    """
    delta_ids = set(undone.values_list("delta_id", flat=True)) - {None}
    rows = PlaybookChange.objects.filter(project_id=project.pk, delta_id__in=delta_ids)
    of_deltas = list(rows.in_order().only("id", "reverts_id", "delta_id"))
    effective = undo_changes.find_in_force(of_deltas)
    in_force = {
        row.delta_id
        for row in of_deltas
        if row.pk in effective and row.reverts_id is None
    }
    deltas = PlaybookDelta.objects.select_for_update(no_key=True).filter(
        pk__in=delta_ids
    )
    changed = []
    for delta in deltas.order_by("pk"):
        if delta.status in PlaybookDelta.IN_FORCE and delta.pk not in in_force:
            _mark_reverted(delta, caller, reason)
            changed.append(delta)
        elif delta.status == Status.REVERTED and delta.pk in in_force:
            _mark_in_force_again(delta)
            changed.append(delta)
    # As in `undo_changes`, every row exists already and is updated.
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
    # A playbook that was restored from an export lacks this key.
    before: dict[str, Any] = delta.payload.pop(BEFORE_REVERT, {})
    delta.status = before.get("status", Status.APPLIED)
    delta.reviewer = before.get("reviewer", "")
    delta.review_note = before.get("review_note", "")
    reviewed_at = before.get("reviewed_at")
    delta.reviewed_at = datetime.fromisoformat(reviewed_at) if reviewed_at else None
    delta.version += 1


def _event(delta: PlaybookDelta, caller: Caller) -> Any:
    is_undone = delta.status == Status.REVERTED
    return trail.build_event(
        caller,
        "delta.undo" if is_undone else "delta.redo",
        project_id=delta.project_id,
        object_type="playbook_delta",
        object_id=delta.pk,
    )

"""A decision taken back: the proposal, or the conflict, waits again as it was."""

from __future__ import annotations

import uuid
from datetime import datetime

from common.caller import Caller, Role
from common.db import write
from inference.embedding.vector import Vector
from playbook import delta_vectors
from playbook.conflicts import (
    conflict_lifecycle,
    conflict_list,
    conflict_sides,
    settled_reason,
)
from playbook.conflicts.conflict_lifecycle import ConflictState
from playbook.history.revision import lock_playbook
from playbook.models import Conflict, PlaybookDelta
from playbook.proposals.proposed_change import Operation
from playbook.review import delta_review, rebase, revert
from playbook.review.delta_review import DeltaState, EmbeddedText
from playbook.review.resolution_steps import Vectors
from playbook.review.revert import BEFORE_REVERT

Status = PlaybookDelta.DeltaStatus
CLOSED_STATUSES = (Status.REJECTED, Status.REVERTED)


def reopen_delta(
    delta: PlaybookDelta,
    caller: Caller,
    *,
    version: int | None = None,
    embedded_text: EmbeddedText | None = None,
) -> PlaybookDelta:
    """Let a decided delta wait again; what an accepted one did is taken back first.

    Its gates are run against the entries as they are now. Raises DeltaState for one
    that waits or that nobody decided about, Overlap when later changes stand on it,
    and EntryState when its entry is not active any more.
    """
    caller.require(Role.CURATOR, delta.project_id)
    return _reopen(
        delta, caller, version, (embedded_text or embed_proposal(delta)).vector
    )


def embed_proposal(delta: PlaybookDelta) -> EmbeddedText:
    """Embed what was proposed: for a door, before its transaction."""
    return delta_review.embed_text(delta, _proposed_text(delta))


def _proposed_text(delta: PlaybookDelta) -> str:
    return str(delta.suggested.get("content", delta.content))


@write
def _reopen(
    delta: PlaybookDelta, caller: Caller, version: int | None, vector: Vector | None
) -> PlaybookDelta:
    playbook, held = delta_review.lock_delta(
        delta, version, also=(*PlaybookDelta.IN_FORCE, *CLOSED_STATUSES)
    )
    if held.status == Status.PENDING:
        raise DeltaState("This delta waits already.")
    if held.status in PlaybookDelta.IN_FORCE:
        held = revert.undo_delta(held, caller, reason="Decided again.")
        playbook.refresh_from_db()
    _restore_proposal(held)
    rebase.renew(playbook, held, caller, vector)
    delta_vectors.keep(held, vector)
    delta_review.audit(held, caller, "reopen")
    return held


def _restore_proposal(delta: PlaybookDelta) -> None:
    """The words that were proposed, where a person's came in their place.

    An addition has no entry until it is accepted.
    """
    if told := delta.suggested:
        entry_id = told["entry_id"]
        delta.operation, delta.content = told["operation"], told["content"]
        delta.category, delta.payload = told["category"], dict(told["payload"])
        delta.entry_id = uuid.UUID(entry_id) if entry_id else None
        delta.producer = told.get("producer", delta.producer)
    if delta.operation != Operation.MERGE:
        # The loser of a conflict, which the decision put there.
        delta.targets = []
    if delta.operation == Operation.ADD:
        delta.entry = delta.expected_version = None
    for name in (BEFORE_REVERT, "reason_code", "repeats"):
        delta.payload.pop(name, None)
    delta.reviewer, delta.reviewed_at, delta.suggested = "", None, {}


def reopen_conflict(
    conflict: Conflict,
    caller: Caller,
    *,
    decided_at: datetime | None = None,
    vectors: Vectors | None = None,
) -> Conflict:
    """Let a decided conflict wait again; what the decision did is taken back first.

    `decided_at` tells which decision was read. Raises ConflictState for one that waits,
    that was decided anew, that closed by itself or would do so at once, and Overlap
    when later changes stand on what the decision did.
    """
    caller.require(Role.CURATOR, conflict.project_id)
    vectors = conflict_vectors(conflict) if vectors is None else vectors
    return _reopen_conflict(conflict, caller, decided_at, vectors)


def conflict_vectors(conflict: Conflict) -> Vectors:
    """Embed the proposal that the decision was about: for a door, like `embedded`."""
    delta = conflict.delta
    if delta is None or delta.pk not in conflict.decided_with:
        return {}
    embedded_text = embed_proposal(delta)
    return {embedded_text.text: embedded_text.vector}


@write
def _reopen_conflict(
    conflict: Conflict,
    caller: Caller,
    decided_at: datetime | None,
    vectors: Vectors,
) -> Conflict:
    lock_playbook(conflict.project)
    rows = conflict_list.with_sides(Conflict.objects.filter(pk=conflict.pk))
    held = rows.select_for_update(of=("self",)).get()
    _refuse_undecided(held, decided_at)
    _undo_steps(held, caller, vectors)
    held = rows.get()
    if reason := settled_reason.find_reason(conflict_sides.sides_of(held)):
        raise ConflictState(f"Nothing would be left to decide: {reason.text}.")
    conflict_lifecycle.reopen_conflict(held, caller)
    return held


def _refuse_undecided(held: Conflict, decided_at: datetime | None) -> None:
    if held.state == Conflict.ConflictStage.OPEN:
        raise ConflictState("This conflict waits for a decision already.")
    if not held.decided_by:
        raise ConflictState(f"Nobody decided this conflict. {held.note}".strip())
    if decided_at and held.decided_at != decided_at:
        raise ConflictState(f"This conflict was decided anew by {held.decided_by}.")


def _undo_steps(held: Conflict, caller: Caller, vectors: Vectors) -> None:
    """The last step first: the proposal waits again, what code added goes."""
    done = PlaybookDelta.objects.in_bulk(held.decided_with)
    for delta in (done[pk] for pk in reversed(held.decided_with) if pk in done):
        delta.project = held.project
        if delta.pk == held.delta_id and delta.status != Status.PENDING:
            _reopen(delta, caller, None, vectors.get(_proposed_text(delta)))
        elif delta.status in PlaybookDelta.IN_FORCE:
            revert.undo_delta(delta, caller, reason="Decided again.")

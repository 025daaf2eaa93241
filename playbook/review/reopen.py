"""Reopen a decision: the proposal or the conflict waits again, as before the decision."""

from __future__ import annotations

import uuid
from datetime import datetime

from common.caller import Caller, Role
from common.db import write
from inference.embedding.vector import Vector
from memories.lifecycle import restore
from memories.models import Memory
from playbook import delta_vectors
from playbook.conflicts import (
    conflict_lifecycle,
    conflict_list,
    conflict_sides,
    settled_reason,
)
from playbook.conflicts.conflict_lifecycle import ConflictState
from playbook.history.operations import SUPERSEDES
from playbook.history.revision import lock_playbook
from playbook.models import Conflict, PlaybookDelta
from playbook.proposals.proposed_change import Operation
from playbook.review import available, delta_review, rebase, revert
from playbook.review.contradictions import opens_conflicts
from playbook.review.delta_review import EmbeddedText
from playbook.review.resolution_steps import Vectors
from playbook.review.revert import BEFORE_REVERT

Status = PlaybookDelta.DeltaStatus


def reopen_delta(
    delta: PlaybookDelta,
    caller: Caller,
    *,
    version: int | None = None,
    release_reason: str = "",
    embedded_text: EmbeddedText | None = None,
) -> PlaybookDelta:
    """Undo what a decided delta did, and make the delta wait again.

    The gates of the delta run against the current entries. Raises DeltaState if the
    delta waits or nobody decided about it, Overlap if later changes depend on the
    delta, EntryState if the entry of the delta is no longer active, and NeedsRelease if
    the undone change makes an unsafe text live again.
    """
    caller.require(Role.CURATOR, delta.project_id)
    vector = (embedded_text or embed_proposal(delta)).vector
    return _reopen(delta, caller, version, vector, release_reason)


def embed_proposal(delta: PlaybookDelta) -> EmbeddedText:
    """Embed the original text.

    Views call this function before they open their transaction.
    """
    return delta_review.embed_text(delta, _proposed_text(delta))


def _proposed_text(delta: PlaybookDelta) -> str:
    return str(delta.suggested.get("content", delta.content))


@opens_conflicts
@write
def _reopen(
    delta: PlaybookDelta,
    caller: Caller,
    version: int | None,
    vector: Vector | None,
    release_reason: str,
) -> PlaybookDelta:
    playbook, held = delta_review.lock_row(delta)
    delta_review.refuse_other_version(held, version)
    available.require("reopen", held, caller)
    if held.status in PlaybookDelta.IN_FORCE and held.operation == Operation.FORGET:
        _bring_memory_back(held, caller)
    elif held.status in PlaybookDelta.IN_FORCE:
        held = revert.undo_delta(
            held, caller, reason="Decided again.", release_reason=release_reason
        )
        playbook.refresh_from_db()
    _restore_proposal(held)
    rebase.renew(playbook, held, caller, vector)
    delta_vectors.keep(held, vector)
    delta_review.audit(held, caller, "reopen")
    return held


def _bring_memory_back(delta: PlaybookDelta, caller: Caller) -> None:
    """Restore the memory that an accepted proposal deleted, if it is still deleted.

    A memory that was deleted otherwise, before the decision or after it, stays deleted.
    """
    rows = Memory.objects.visible_to(caller).filter(
        pk=delta.memory_id,
        deleted_at__gte=delta.reviewed_at,
        deleted_by=delta.reviewer,
        delete_reason=delta.reason[:500],
    )
    if memory := rows.only("pk").first():
        restore.restore_memory(memory.pk, caller)


def _restore_proposal(delta: PlaybookDelta) -> None:
    """Restore the original proposal if a person's words replaced it.

    An addition has no entry until the addition is accepted.
    """
    if original := delta.suggested:
        entry_id = original["entry_id"]
        delta.operation, delta.content = original["operation"], original["content"]
        delta.category, delta.payload = original["category"], dict(original["payload"])
        delta.entry_id = uuid.UUID(entry_id) if entry_id else None
        delta.producer = original.get("producer", delta.producer)
    if delta.operation != Operation.MERGE:
        # The decision about a conflict had added the losing side.
        delta.targets = []
    if delta.operation == Operation.ADD:
        delta.entry = delta.expected_version = None
    for name in (BEFORE_REVERT, SUPERSEDES, "reason_code", "repeats"):
        delta.payload.pop(name, None)
    delta.reviewer, delta.reviewed_at, delta.suggested = "", None, {}


def reopen_conflict(
    conflict: Conflict,
    caller: Caller,
    *,
    decided_at: datetime | None = None,
    release_reason: str = "",
    vectors: Vectors | None = None,
) -> Conflict:
    """Undo what the decision about a conflict did, and make the conflict wait again.

    `decided_at` identifies the decision to undo. Raises ConflictState if the conflict
    is open, was decided again, closed without a decision or would close at once. Raises
    Overlap if later changes depend on the decision, and NeedsRelease if an unsafe text
    becomes live again.
    """
    caller.require(Role.CURATOR, conflict.project_id)
    vectors = conflict_vectors(conflict) if vectors is None else vectors
    return _reopen_conflict(conflict, caller, decided_at, vectors, release_reason)


def conflict_vectors(conflict: Conflict) -> Vectors:
    """Embed the proposal of the conflict.

    Views call this function before they open their transaction.
    """
    delta = conflict.delta
    if delta is None or delta.pk not in conflict.decided_with:
        return {}
    embedded_text = embed_proposal(delta)
    return {embedded_text.text: embedded_text.vector}


@opens_conflicts
@write
def _reopen_conflict(
    conflict: Conflict,
    caller: Caller,
    decided_at: datetime | None,
    vectors: Vectors,
    release_reason: str,
) -> Conflict:
    lock_playbook(conflict.project)
    rows = conflict_list.with_sides(Conflict.objects.filter(pk=conflict.pk))
    locked = rows.select_for_update(of=("self",)).get()
    _refuse_undecided(locked, decided_at)
    _undo_steps(locked, caller, vectors, release_reason)
    reopened = rows.get()
    if reason := settled_reason.find_reason(conflict_sides.sides_of(reopened)):
        raise ConflictState(f"Nothing would be left to decide: {reason.text}.")
    conflict_lifecycle.reopen_conflict(reopened, caller)
    return reopened


def _refuse_undecided(conflict: Conflict, decided_at: datetime | None) -> None:
    if conflict.state == Conflict.ConflictStage.OPEN:
        raise ConflictState("This conflict already waits for a decision.")
    if not conflict.decided_by:
        raise ConflictState(f"Nobody decided this conflict. {conflict.note}".strip())
    if decided_at and conflict.decided_at != decided_at:
        raise ConflictState(
            f"This conflict was decided again by {conflict.decided_by}."
        )


def _take_back(delta: PlaybookDelta, conflict: Conflict) -> None:
    """Take back a decision for a proposal that waits for its other conflicts."""
    if conflict.state == Conflict.ConflictStage.SPLIT:
        _restore_proposal(delta)
    else:
        left = str(conflict.left_id)
        delta.targets = [t for t in delta.targets if t["id"] != left]
        losers = delta.payload.get(SUPERSEDES, ())
        delta.payload[SUPERSEDES] = [t for t in losers if t["id"] != left]
    delta.version += 1
    delta.save()


def _undo_steps(
    conflict: Conflict, caller: Caller, vectors: Vectors, release_reason: str
) -> None:
    """Undo the steps of the decision, last step first.

    The proposal of the conflict waits again.
    """
    deltas = PlaybookDelta.objects.in_bulk(conflict.decided_with)
    for delta in (deltas[pk] for pk in reversed(conflict.decided_with) if pk in deltas):
        delta.project = conflict.project
        if delta.pk == conflict.delta_id and delta.status == Status.PENDING:
            _take_back(delta, conflict)
        elif delta.pk == conflict.delta_id:
            vector = vectors.get(_proposed_text(delta))
            _reopen(delta, caller, None, vector, release_reason)
        elif delta.status in PlaybookDelta.IN_FORCE:
            revert.undo_delta(
                delta, caller, reason="Decided again.", release_reason=release_reason
            )

"""Resolve a conflict.

A person supersedes one side, splits the two sides by conditions, or rejects the newer
side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from django.utils import timezone

from common import errors
from common.caller import Caller, Role
from common.db import write
from common.text import plain_text as texts
from playbook.conflicts import (
    conflict_lifecycle,
    conflict_list,
    conflict_sides,
    settled_reason,
)
from playbook.conflicts.conflict_lifecycle import ConflictState
from playbook.conflicts.conflict_sides import Side, Sides
from playbook.conflicts.settled_reason import SettledReason
from playbook.entries import neighbours
from playbook.entries.text_limits import MAX_CONTENT
from playbook.history import operations
from playbook.history.revision import lock_playbook
from playbook.models import Conflict, Playbook, PlaybookDelta
from playbook.proposals import person_edits
from playbook.queries import WAITING_STATUSES
from playbook.review import delta_review, renewal, resolution_steps
from playbook.review.resolution_steps import Resolution, SplitPart, Vectors

State = Conflict.ConflictStage
Winner = Literal["left", "right"]


class NothingToDecide(ConflictState):
    """Nothing is left to decide; the conflict is closed."""

    def __init__(self, reason: SettledReason) -> None:
        super().__init__(f"Nothing is left to decide: {reason.text}. It is closed now.")
        self.reason = reason


@dataclass(frozen=True)
class SeenVersions:
    """The versions of both sides that the person has seen.

    None accepts any version.
    """

    left: int | None = None
    right: int | None = None


def supersede(
    conflict: Conflict,
    caller: Caller,
    *,
    winner: Winner = "right",
    note: str = "",
    versions: SeenVersions | None = None,
    vectors: Vectors | None = None,
) -> Conflict:
    """Keep one side.

    The other side is superseded, or rejected if it waits. `vectors` are the result of
    `vectors_for`, if the caller has called that function before.
    """
    if vectors is None:
        vectors = vectors_for(conflict)
    resolution = Resolution(conflict, caller, note, vectors)

    def act(playbook: Playbook, sides: Sides) -> list[PlaybookDelta]:
        if winner == "left":
            return [resolution_steps.keep_older(playbook, resolution, sides)]
        return [resolution_steps.keep_newer(playbook, resolution, sides)]

    return _decide(resolution, State.SUPERSEDED, act, versions)


def split(
    conflict: Conflict,
    left: SplitPart,
    right: SplitPart,
    caller: Caller,
    *,
    note: str = "",
    versions: SeenVersions | None = None,
    vectors: Vectors | None = None,
) -> Conflict:
    """Keep both sides, each side under its own condition."""
    _refuse_parts(conflict, left, right, caller)
    if vectors is None:
        vectors = vectors_for(conflict, left, right)
    resolution = Resolution(conflict, caller, note, vectors)

    def act(playbook: Playbook, sides: Sides) -> list[PlaybookDelta]:
        one = resolution_steps.reword_side(playbook, resolution, sides.left, left)
        # The first step has increased the revision.
        playbook = lock_playbook(conflict.project)
        return [
            one,
            resolution_steps.reword_side(playbook, resolution, sides.right, right),
        ]

    return _decide(resolution, State.SPLIT, act, versions)


def reject(
    conflict: Conflict,
    caller: Caller,
    *,
    note: str = "",
    versions: SeenVersions | None = None,
) -> Conflict:
    """Reject the newer side.

    A waiting delta is rejected. An entry is deprecated.
    """
    resolution = Resolution(conflict, caller, note)

    def act(playbook: Playbook, sides: Sides) -> list[PlaybookDelta]:
        return [resolution_steps.retire_side(playbook, resolution, sides.right)]

    return _decide(resolution, State.REJECTED, act, versions)


def vectors_for(
    conflict: Conflict, left: SplitPart | None = None, right: SplitPart | None = None
) -> Vectors:
    """Embed the texts that the decision writes.

    Views call this function before they open their transaction.
    """
    sides = conflict_sides.sides_of(conflict)
    if left and right:
        texts_to_embed = [left.text(sides.left), right.text(sides.right)]
        embedded = neighbours.embed_texts(texts_to_embed)
        return dict(zip(texts_to_embed, embedded, strict=True)) if embedded else {}
    delta = sides.right.delta
    if delta is None or delta.status not in WAITING_STATUSES:
        return {}
    return {delta.content: delta_review.embed_text(delta, delta.content).vector}


Action = Callable[[Playbook, Sides], list[PlaybookDelta]]


def _decide(
    resolution: Resolution,
    state: Conflict.ConflictStage,
    act: Action,
    versions: SeenVersions | None,
) -> Conflict:
    conflict, caller = resolution.conflict, resolution.caller
    caller.require(Role.CURATOR, conflict.project_id)
    try:
        return _resolve(resolution, state, act, versions or SeenVersions())
    except errors.Refusal as refusal:
        note_refusal(conflict, refusal, caller)
        raise


def note_refusal(conflict: Conflict, refusal: errors.Refusal, caller: Caller) -> None:
    """Record what a refusal found.

    The transaction of the refused decision was rolled back before.
    """
    if isinstance(refusal, NothingToDecide):
        conflict_lifecycle.close_conflict(conflict, refusal.reason, caller)
    elif isinstance(refusal, operations.StaleEntry) and conflict.delta:
        renewal.renew_stale(conflict.delta, caller)


@write
def _resolve(
    resolution: Resolution,
    state: Conflict.ConflictStage,
    act: Action,
    versions: SeenVersions,
) -> Conflict:
    conflict, caller = resolution.conflict, resolution.caller
    playbook = lock_playbook(conflict.project)
    rows = conflict_list.with_sides(Conflict.objects.filter(pk=conflict.pk))
    locked_conflict = rows.select_for_update(of=("self",)).get()
    if locked_conflict.state != State.OPEN:
        by = f" by {locked_conflict.decided_by}" if locked_conflict.decided_by else ""
        raise ConflictState(
            f"This conflict is already decided: {locked_conflict.state}{by}."
        )
    sides = conflict_sides.sides_of(locked_conflict)
    if reason := settled_reason.find_reason(sides):
        raise NothingToDecide(reason)
    _refuse_stale(sides.left, versions.left)
    _refuse_stale(sides.right, versions.right)
    locked_conflict.state, locked_conflict.note = state, resolution.note[:1000]
    locked_conflict.decided_by, locked_conflict.decided_at = (
        caller.name[:200],
        timezone.now(),
    )
    # The conflict is closed first, so that the steps of the decision update only other
    # conflicts.
    locked_conflict.save(update_fields=["state", "note", "decided_by", "decided_at"])
    locked_conflict.decided_with = [delta.pk for delta in act(playbook, sides)]
    locked_conflict.save(update_fields=["decided_with"])
    conflict_lifecycle.audit(locked_conflict, caller, VERBS[state])
    return locked_conflict


VERBS = {State.SUPERSEDED: "supersede", State.SPLIT: "split", State.REJECTED: "reject"}


def _refuse_stale(side: Side, version: int | None) -> None:
    if version is not None and side.version != version:
        raise errors.StaleVersion(
            f"{side.name} is at version {side.version}, not {version}; read it again.",
            current_version=side.version,
        )


def _refuse_parts(
    conflict: Conflict, left: SplitPart, right: SplitPart, caller: Caller
) -> None:
    sides = conflict_sides.sides_of(conflict)
    for name, part, side in (("left", left, sides.left), ("right", right, sides.right)):
        changes = {"content": part.content, "condition": part.condition}
        person_edits.refuse_secrets(conflict.project, changes)
        person_edits.refuse_alone(changes, caller)
        if len(part.text(side)) > MAX_CONTENT:
            raise errors.Invalid(
                errors={
                    f"{name}_condition": [f"The text is over {MAX_CONTENT} characters."]
                }
            )
    if texts.similarity_hash(left.condition) == texts.similarity_hash(right.condition):
        raise errors.Invalid(
            errors={"right_condition": ["Both sides have the same condition."]}
        )

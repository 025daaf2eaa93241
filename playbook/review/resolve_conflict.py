"""Decide a conflict: one supersedes the other, each gets its condition, or one goes."""

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
from playbook.history import operations
from playbook.history.revision import lock_playbook
from playbook.models import Conflict, Playbook, PlaybookDelta
from playbook.proposals import person_edits
from playbook.queries import WAITING_STATUSES
from playbook.review import delta_review, resolution_steps
from playbook.review.resolution_steps import Resolution, SplitPart, Vectors

State = Conflict.ConflictStage
Winner = Literal["left", "right"]
# As the API takes the content of an entry (docs/limits.md).
MAX_TEXT = 4_000


class NothingToDecide(ConflictState):
    """Nothing is left to decide; the conflict is closed."""

    def __init__(self, reason: SettledReason) -> None:
        super().__init__(f"Nothing is left to decide: {reason.text}. It is closed now.")
        self.reason = reason


@dataclass(frozen=True)
class SeenVersions:
    """The versions that were read, of an entry or of a waiting delta; None is any."""

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
    """Keep one side; the other is superseded by it or, while it waits, rejected.

    `vectors` are those of `vectors_for`, where the caller has made them already.
    """
    if vectors is None:
        vectors = vectors_for(conflict)
    ruling = Resolution(conflict, caller, note, vectors)

    def act(playbook: Playbook, found: Sides) -> list[PlaybookDelta]:
        if winner == "left":
            return [resolution_steps.keep_older(playbook, ruling, found)]
        return resolution_steps.keep_newer(playbook, ruling, found)

    return _decide(ruling, State.SUPERSEDED, act, versions)


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
    """Keep both, each under its own condition."""
    _refuse_parts(conflict, left, right)
    if vectors is None:
        vectors = vectors_for(conflict, left, right)
    ruling = Resolution(conflict, caller, note, vectors)

    def act(playbook: Playbook, found: Sides) -> list[PlaybookDelta]:
        one = resolution_steps.reword_side(playbook, ruling, found.left, left)
        # The first of the two has moved the revision.
        playbook = lock_playbook(conflict.project)
        return [one, resolution_steps.reword_side(playbook, ruling, found.right, right)]

    return _decide(ruling, State.SPLIT, act, versions)


def reject(
    conflict: Conflict,
    caller: Caller,
    *,
    note: str = "",
    versions: SeenVersions | None = None,
) -> Conflict:
    """Refuse the newer side: a waiting delta is rejected, an entry deprecated."""
    ruling = Resolution(conflict, caller, note)

    def act(playbook: Playbook, found: Sides) -> list[PlaybookDelta]:
        return [resolution_steps.retire_side(playbook, ruling, found.right)]

    return _decide(ruling, State.REJECTED, act, versions)


def vectors_for(
    conflict: Conflict, left: SplitPart | None = None, right: SplitPart | None = None
) -> Vectors:
    """Embed the texts that a decision brings in: for a door, before its transaction."""
    found = conflict_sides.sides_of(conflict)
    if left and right:
        wanted = [left.text(found.left), right.text(found.right)]
        made = neighbours.embed_texts(wanted)
        return dict(zip(wanted, made, strict=True)) if made else {}
    delta = found.right.delta
    if delta is None or delta.status not in WAITING_STATUSES:
        return {}
    return {delta.content: delta_review.embed_text(delta, delta.content).vector}


Action = Callable[[Playbook, Sides], list[PlaybookDelta]]


def _decide(
    ruling: Resolution,
    state: Conflict.ConflictStage,
    act: Action,
    versions: SeenVersions | None,
) -> Conflict:
    conflict, caller = ruling.conflict, ruling.caller
    caller.require(Role.CURATOR, conflict.project_id)
    try:
        return _resolve(ruling, state, act, versions or SeenVersions())
    except errors.Refusal as refusal:
        note_refusal(conflict, refusal, caller)
        raise


def note_refusal(conflict: Conflict, refusal: errors.Refusal, caller: Caller) -> None:
    """Keep what a refusal found out: its own transaction was rolled back."""
    if isinstance(refusal, NothingToDecide):
        conflict_lifecycle.close_conflict(conflict, refusal.reason, caller)
    elif isinstance(refusal, operations.StaleEntry) and conflict.delta:
        delta_review.mark_stale(conflict.delta, caller)


@write
def _resolve(
    ruling: Resolution,
    state: Conflict.ConflictStage,
    act: Action,
    versions: SeenVersions,
) -> Conflict:
    conflict, caller = ruling.conflict, ruling.caller
    playbook = lock_playbook(conflict.project)
    rows = conflict_list.with_sides(Conflict.objects.filter(pk=conflict.pk))
    held = rows.select_for_update(of=("self",)).get()
    if held.state != State.OPEN:
        by = f" by {held.decided_by}" if held.decided_by else ""
        raise ConflictState(f"This conflict is decided already: {held.state}{by}.")
    found = conflict_sides.sides_of(held)
    if reason := settled_reason.find_reason(found):
        raise NothingToDecide(reason)
    _refuse_stale(found.left, versions.left)
    _refuse_stale(found.right, versions.right)
    held.state, held.note = state, ruling.note[:1000]
    held.decided_by, held.decided_at = caller.name[:200], timezone.now()
    # First, so that what the decision does moves the other conflicts only.
    held.save(update_fields=["state", "note", "decided_by", "decided_at"])
    held.decided_with = [delta.pk for delta in act(playbook, found)]
    held.save(update_fields=["decided_with"])
    conflict_lifecycle.audit(held, caller, VERBS[state])
    return held


VERBS = {State.SUPERSEDED: "supersede", State.SPLIT: "split", State.REJECTED: "reject"}


def _refuse_stale(side: Side, version: int | None) -> None:
    if version is not None and side.version != version:
        raise errors.StaleVersion(
            f"{side.name} is at version {side.version}, not {version}; read it again.",
            current_version=side.version,
        )


def _refuse_parts(conflict: Conflict, left: SplitPart, right: SplitPart) -> None:
    found = conflict_sides.sides_of(conflict)
    for name, part, side in (("left", left, found.left), ("right", right, found.right)):
        said = {"content": part.content, "condition": part.condition}
        person_edits.refuse_secrets(conflict.project, said)
        if len(part.text(side)) > MAX_TEXT:
            raise errors.Invalid(
                errors={
                    f"{name}_condition": [f"The text is over {MAX_TEXT} characters."]
                }
            )
    if texts.similarity_hash(left.condition) == texts.similarity_hash(right.condition):
        raise errors.Invalid(
            errors={"right_condition": ["Both sides would hold under the same one."]}
        )

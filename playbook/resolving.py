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
from playbook import (
    conflicts,
    curation,
    disputes,
    neighbours,
    operations,
    reviewing,
    rulings,
)
from playbook.conflicts import ConflictState, Moot, Side, Sides
from playbook.models import Conflict, Playbook, PlaybookDelta
from playbook.queries import WAITING
from playbook.revisions import hold
from playbook.rulings import Part, Ruling, Vectors

State = Conflict.State
Winner = Literal["left", "right"]
# As the API takes the content of an entry (docs/limits.md).
LONGEST = 4_000


class NothingToDecide(ConflictState):
    """Nothing is left to decide; the conflict is closed."""

    def __init__(self, moot: Moot) -> None:
        super().__init__(f"Nothing is left to decide: {moot.words}. It is closed now.")
        self.moot = moot


@dataclass(frozen=True)
class Seen:
    """The versions that were read, of an entry or of a waiting delta; None is any."""

    left: int | None = None
    right: int | None = None


def supersede(
    conflict: Conflict,
    caller: Caller,
    *,
    winner: Winner = "right",
    note: str = "",
    seen: Seen | None = None,
    vectors: Vectors | None = None,
) -> Conflict:
    """Keep one side; the other is superseded by it or, while it waits, rejected.

    `vectors` are those of `vectors_for`, where the caller has made them already.
    """
    if vectors is None:
        vectors = vectors_for(conflict)
    ruling = Ruling(conflict, caller, note, vectors)

    def act(playbook: Playbook, found: Sides) -> list[PlaybookDelta]:
        if winner == "left":
            return [rulings.step_back(playbook, ruling, found)]
        return rulings.take_over(playbook, ruling, found)

    return _decide(ruling, State.SUPERSEDED, act, seen)


def split(
    conflict: Conflict,
    left: Part,
    right: Part,
    caller: Caller,
    *,
    note: str = "",
    seen: Seen | None = None,
    vectors: Vectors | None = None,
) -> Conflict:
    """Keep both, each under its own condition."""
    _refuse_parts(conflict, left, right)
    if vectors is None:
        vectors = vectors_for(conflict, left, right)
    ruling = Ruling(conflict, caller, note, vectors)

    def act(playbook: Playbook, found: Sides) -> list[PlaybookDelta]:
        one = rulings.reword(playbook, ruling, found.left, left)
        # The first of the two has moved the revision.
        playbook = hold(conflict.project)
        return [one, rulings.reword(playbook, ruling, found.right, right)]

    return _decide(ruling, State.SPLIT, act, seen)


def reject(
    conflict: Conflict, caller: Caller, *, note: str = "", seen: Seen | None = None
) -> Conflict:
    """Refuse the newer side: a waiting delta is rejected, an entry deprecated."""
    ruling = Ruling(conflict, caller, note)

    def act(playbook: Playbook, found: Sides) -> list[PlaybookDelta]:
        return [rulings.retire(playbook, ruling, found.right)]

    return _decide(ruling, State.REJECTED, act, seen)


def vectors_for(
    conflict: Conflict, left: Part | None = None, right: Part | None = None
) -> Vectors:
    """Embed the texts that a decision brings in: for a door, before its transaction."""
    found = conflicts.sides(conflict)
    if left and right:
        wanted = [left.text(found.left), right.text(found.right)]
        made = neighbours.embed(wanted)
        return dict(zip(wanted, made, strict=True)) if made else {}
    delta = found.right.delta
    if delta is None or delta.status not in WAITING:
        return {}
    return {delta.content: reviewing.embedded(delta, delta.content).vector}


Act = Callable[[Playbook, Sides], list[PlaybookDelta]]


def _decide(
    ruling: Ruling, state: Conflict.State, act: Act, seen: Seen | None
) -> Conflict:
    conflict, caller = ruling.conflict, ruling.caller
    caller.require(Role.CURATOR, conflict.project_id)
    try:
        return _settle(ruling, state, act, seen or Seen())
    except errors.Refusal as refusal:
        note_refusal(conflict, refusal, caller)
        raise


def note_refusal(conflict: Conflict, refusal: errors.Refusal, caller: Caller) -> None:
    """Keep what a refusal found out: its own transaction was rolled back."""
    if isinstance(refusal, NothingToDecide):
        disputes.close(conflict, refusal.moot, caller)
    elif isinstance(refusal, operations.StaleEntry) and conflict.delta:
        reviewing.mark_stale(conflict.delta, caller)


@write
def _settle(ruling: Ruling, state: Conflict.State, act: Act, seen: Seen) -> Conflict:
    conflict, caller = ruling.conflict, ruling.caller
    playbook = hold(conflict.project)
    rows = conflicts.light(Conflict.objects.filter(pk=conflict.pk))
    held = rows.select_for_update(of=("self",)).get()
    if held.state != State.OPEN:
        by = f" by {held.decided_by}" if held.decided_by else ""
        raise ConflictState(f"This conflict is decided already: {held.state}{by}.")
    found = conflicts.sides(held)
    if moot := conflicts.moot(found):
        raise NothingToDecide(moot)
    _refuse_stale(found.left, seen.left)
    _refuse_stale(found.right, seen.right)
    held.state, held.note = state, ruling.note[:1000]
    held.decided_by, held.decided_at = caller.name[:200], timezone.now()
    # First, so that what the decision does moves the other conflicts only.
    held.save(update_fields=["state", "note", "decided_by", "decided_at"])
    held.decided_with = [delta.pk for delta in act(playbook, found)]
    held.save(update_fields=["decided_with"])
    conflicts.audit(held, caller, VERBS[state])
    return held


VERBS = {State.SUPERSEDED: "supersede", State.SPLIT: "split", State.REJECTED: "reject"}


def _refuse_stale(side: Side, version: int | None) -> None:
    if version is not None and side.version != version:
        raise errors.StaleVersion(
            f"{side.name} is at version {side.version}, not {version}; read it again.",
            current_version=side.version,
        )


def _refuse_parts(conflict: Conflict, left: Part, right: Part) -> None:
    found = conflicts.sides(conflict)
    for name, part, side in (("left", left, found.left), ("right", right, found.right)):
        said = {"content": part.content, "condition": part.condition}
        curation.refuse_secrets(conflict.project, said)
        if len(part.text(side)) > LONGEST:
            raise errors.Invalid(
                errors={
                    f"{name}_condition": [f"The text is over {LONGEST} characters."]
                }
            )
    if texts.similarity_hash(left.condition) == texts.similarity_hash(right.condition):
        raise errors.Invalid(
            errors={"right_condition": ["Both sides would hold under the same one."]}
        )

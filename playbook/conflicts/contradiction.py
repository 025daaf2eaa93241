"""The refusal of a text that contradicts active entries."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from common import errors
from common.caller import Caller
from inference.embedding.vector import Vector
from playbook.conflicts import conflict_sides
from playbook.entries.neighbours import Neighbour
from playbook.models import Conflict, PlaybookDelta

CHOICES = ("supersede", "split", "reject")


@dataclass(frozen=True)
class ReturningRule:
    """A rule that a revert would make active again."""

    entry_id: uuid.UUID
    content: str
    condition: str
    action: str


class Contradiction(errors.StateConflict):
    """The text contradicts an active entry: supersede one, split both, or reject the text."""

    code = "contradiction"

    # `delta` is the refused proposal, in the words that a person gave it, and `vector`
    # the vector of these words. `returning` are the rules of a refused revert.
    # `conflicts` are the open conflicts in which a person decides.
    def __init__(
        self,
        contradicted: Sequence[Neighbour],
        *,
        caller: Caller,
        delta: PlaybookDelta | None = None,
        vector: Vector | None = None,
        returning: Sequence[ReturningRule] = (),
        conflicts: Sequence[Conflict] = (),
        text: str = "The text",
    ) -> None:
        self.contradicted, self.caller, self.text = tuple(contradicted), caller, text
        self.delta, self.vector = delta, vector
        self.returning, self.conflicts = tuple(returning), tuple(conflicts)
        super().__init__(
            _describe(text, contradicted, conflicts),
            delta_id=str(delta.pk) if delta else None,
            conflicts=[_summary(conflict) for conflict in conflicts],
            choices=list(CHOICES) if conflicts else [],
        )


def _describe(
    text: str, contradicted: Sequence[Neighbour], conflicts: Sequence[Conflict]
) -> str:
    reasons = "; ".join(f"{n.entry.label} ({n.disagreement})" for n in contradicted)
    start = f"{text} contradicts {reasons}, so it did not become active."
    if not conflicts:
        return f"{start} Word it otherwise, or change the other entry first."
    ids = ", ".join(str(conflict.pk) for conflict in conflicts)
    return (
        f"{start} It waits. Decide the conflict {ids}: supersede, split by condition, "
        "or reject."
    )


def _summary(conflict: Conflict) -> dict[str, Any]:
    sides = conflict_sides.sides_of(conflict)
    return {
        "id": str(conflict.pk),
        "left": sides.left.name,
        "right": sides.right.name,
        "reason": conflict.reason,
    }


def refusal_for(delta: PlaybookDelta, caller: Caller) -> Contradiction | None:
    """Return the refusal of a person's change that waits only because of a contradiction."""
    if not delta.is_held or delta.status != PlaybookDelta.DeltaStatus.PENDING:
        return None
    rows = Conflict.objects.unresolved().filter(delta=delta).order_by("pk")
    conflicts = list(rows.select_related("left", "right", "delta"))
    near = [Neighbour(c.left, 0.0, c.reason) for c in conflicts]
    return Contradiction(near, caller=caller, delta=delta, conflicts=conflicts)

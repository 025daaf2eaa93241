"""TODO docstring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from common.text.contradiction import disagreement
from playbook.conflicts.conflict_sides import Side, Sides, State
from playbook.entries import matches, neighbours


@dataclass(frozen=True)
class SettledReason:
    """Why nothing is left to decide, and the state that says which of the two stands."""

    state: State
    words: str


def find_reason(found: Sides) -> SettledReason | None:
    """What happened meanwhile that leaves nothing to decide, if anything did."""
    if not found.right.stands:
        return SettledReason(
            State.REJECTED, f"{found.right.name} is {found.right.status}"
        )
    if not found.left.stands:
        return SettledReason(
            State.SUPERSEDED, f"{found.left.name} is {found.left.status}"
        )
    if reason := _reason_both_hold(found.left, found.right):
        return SettledReason(State.SPLIT, f"the two do not disagree any more: {reason}")
    return None


def _reason_both_hold(left: Side, right: Side) -> str:
    conditions = [" ".join(s.condition.casefold().split()) for s in (left, right)]
    if all(conditions) and conditions[0] != conditions[1]:
        return "they hold under different conditions"
    if _say_the_same(left, right):
        return "they say the same"
    one, other = left.vector, right.vector
    is_measurable = one and other and one.model == other.model
    if (
        one
        and other
        and is_measurable
        and _cosine(one, other) < neighbours.ALIKE_COSINE
    ):
        return "they are about different things"
    return ""


def _say_the_same(left: Side, right: Side) -> bool:
    """As the curator would find it, if the two were as near as can be."""
    if disagreement.reason_to_keep_apart(left.content, right.content) or not left.entry:
        return False
    near = neighbours.Neighbour(left.entry, 1.0)
    said = {"condition": right.condition, "action": right.action}
    return matches.compare(right.content, near, **said).verdict != "against"


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Of vectors of length 1."""
    return sum(a * b for a, b in zip(one, other, strict=True))

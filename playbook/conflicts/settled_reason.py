"""Find out why a conflict has nothing left to decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from common.text.contradiction import disagreement
from playbook.conflicts.conflict_sides import Side, Sides, State
from playbook.entries import matches, neighbours


@dataclass(frozen=True)
class SettledReason:
    """The reason why nothing is left to decide, and the state that the conflict gets."""

    state: State
    text: str


def find_reason(sides: Sides) -> SettledReason | None:
    """Return why the conflict settled without a decision, or None if it is still open."""
    if not sides.right.is_live:
        return SettledReason(
            State.REJECTED, f"{sides.right.name} is {sides.right.status}"
        )
    if not sides.left.is_live:
        return SettledReason(
            State.SUPERSEDED, f"{sides.left.name} is {sides.left.status}"
        )
    if reason := _reason_both_hold(sides.left, sides.right):
        return SettledReason(State.SPLIT, f"the two no longer disagree: {reason}")
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
    """Whether the two texts say the same, compared as if their cosine were 1."""
    if disagreement.reason_to_keep_apart(left.content, right.content) or not left.entry:
        return False
    near = neighbours.Neighbour(left.entry, 1.0)
    parts = {"condition": right.condition, "action": right.action}
    return matches.compare(right.content, near, **parts).verdict != "against"


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of two vectors of length 1."""
    return sum(a * b for a, b in zip(one, other, strict=True))

"""Two that are laid beside each other: rules in conflict, memories that are alike."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from console import differences
from console.differences import Difference
from memories.models import Memory, PossibleDuplicate
from playbook import conflicts
from playbook.conflicts import Side
from playbook.models import Conflict
from playbook.serializers.conflicts import evidence

QUOTES = 5  # of a side


@dataclass(frozen=True)
class Party:
    """One side of a conflict, with what speaks for it."""

    name: str
    side: Side
    supports: int
    quotes: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Dispute:
    conflict: Conflict
    older: Party
    newer: Party
    words: Difference
    may_decide: bool
    typed: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""

    @property
    def pk(self) -> uuid.UUID:
        return self.conflict.pk

    @property
    def parties(self) -> tuple[Party, Party]:
        return self.older, self.newer

    @property
    def is_open(self) -> bool:
        return self.conflict.state == Conflict.State.OPEN


@dataclass(frozen=True)
class Doubt:
    """Two memories: `older` would stay if they are merged."""

    pair: PossibleDuplicate
    older: Memory
    newer: Memory
    words: Difference
    may_decide: bool
    refusal: str = ""

    @property
    def pk(self) -> uuid.UUID:
        return self.pair.pk

    @property
    def sides(self) -> tuple[Memory, Memory]:
        return self.older, self.newer

    @property
    def is_open(self) -> bool:
        return self.pair.state == PossibleDuplicate.State.OPEN


def of_conflict(
    conflict: Conflict,
    may_decide: bool,
    typed: Mapping[str, str] | None = None,
    refusal: str = "",
) -> Dispute:
    """Of a row of `conflicts.in_full`."""
    found = conflicts.sides(conflict)
    counted = (conflict.left_supports, conflict.right_supports)  # type: ignore[attr-defined]  # `in_full`
    older, newer = (
        Party(name, side, supports, list(islice(evidence(side), QUOTES)))
        for name, side, supports in zip(
            ("The older", "The newer"), (found.left, found.right), counted, strict=True
        )
    )
    words = differences.between(found.left.content, found.right.content)
    return Dispute(conflict, older, newer, words, may_decide, typed or {}, refusal)


def of_doubt(pair: PossibleDuplicate, may_decide: bool, refusal: str = "") -> Doubt:
    older, newer = pair.other, pair.memory
    words = differences.between(older.content, newer.content)
    return Doubt(pair, older, newer, words, may_decide, refusal)

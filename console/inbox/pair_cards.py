"""Cards that compare two rows.

The rows are two rules in conflict, or two memories that may be duplicates.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from console import text_diff
from console.text_diff import TextDiff
from memories.models import Memory, PossibleDuplicate
from playbook.conflicts import conflict_sides
from playbook.conflicts.conflict_sides import Side
from playbook.models import Conflict
from playbook.serializers.conflicts import evidence

MAX_QUOTES = 5  # quotes shown for each side


@dataclass(frozen=True)
class ConflictParty:
    """One side of a conflict, with its evidence."""

    name: str
    side: Side
    supports: int
    quotes: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class ConflictCard:
    conflict: Conflict
    older: ConflictParty
    newer: ConflictParty
    diff: TextDiff
    may_decide: bool
    form_input: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""

    @property
    def pk(self) -> uuid.UUID:
        return self.conflict.pk

    @property
    def parties(self) -> tuple[ConflictParty, ConflictParty]:
        return self.older, self.newer

    @property
    def is_open(self) -> bool:
        return self.conflict.state == Conflict.ConflictStage.OPEN


@dataclass(frozen=True)
class DuplicateCard:
    """Two memories. If they are merged, `older` is kept."""

    pair: PossibleDuplicate
    older: Memory
    newer: Memory
    diff: TextDiff
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
        return self.pair.state == PossibleDuplicate.PairState.OPEN


def conflict_card(
    conflict: Conflict,
    may_decide: bool,
    form_input: Mapping[str, str] | None = None,
    refusal: str = "",
) -> ConflictCard:
    """Build the card of a conflict that was loaded by `conflict_list.in_full`."""
    found = conflict_sides.sides_of(conflict)
    counted = (conflict.left_supports, conflict.right_supports)  # type: ignore[attr-defined]  # `in_full` adds both
    older, newer = (
        ConflictParty(name, side, supports, list(islice(evidence(side), MAX_QUOTES)))
        for name, side, supports in zip(
            ("The older", "The newer"), (found.left, found.right), counted, strict=True
        )
    )
    diff = text_diff.compare(found.left.content, found.right.content)
    return ConflictCard(
        conflict,
        older,
        newer,
        diff,
        may_decide,
        form_input or {},
        refusal,
    )


def duplicate_card(
    pair: PossibleDuplicate, may_decide: bool, refusal: str = ""
) -> DuplicateCard:
    older, newer = pair.other, pair.memory
    diff = text_diff.compare(older.content, newer.content)
    return DuplicateCard(pair, older, newer, diff, may_decide, refusal)

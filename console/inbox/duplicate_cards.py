"""Cards that compare two memories that may be duplicates."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from console import text_diff
from console.text_diff import TextDiff
from memories.models import Memory, PossibleDuplicate


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


def duplicate_card(
    pair: PossibleDuplicate, may_decide: bool, refusal: str = ""
) -> DuplicateCard:
    older, newer = pair.other, pair.memory
    diff = text_diff.compare(older.content, newer.content)
    return DuplicateCard(pair, older, newer, diff, may_decide, refusal)

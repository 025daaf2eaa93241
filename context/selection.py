"""What fits into budgets: whole lines in order, the last one perhaps cut.

Sources give candidates, a ranking orders them, and this decides what is in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from inference import tokens

T = TypeVar("T")

# When the tokens of a line do not fit, it is tried once more at this share of its
# characters (docs/digest.md, "Settings").
RETRY = 0.7
CUT = "…"


@dataclass(frozen=True)
class Budget:
    """The most items, characters and, if set, tokens."""

    items: int
    chars: int
    tokens: int | None = None


@dataclass(frozen=True)
class CandidateLine(Generic[T]):
    """A candidate as text. It is never cut within its first `head` characters.

    The text is written when it is looked at: there is no room for most candidates.
    """

    item: T
    kind: str
    head: int
    write: Callable[[], str]

    @cached_property
    def text(self) -> str:
        return self.write()


@dataclass(frozen=True)
class SelectedLine(Generic[T]):
    """A line that is in; `text` is what is left of it, `is_cut` says whether less."""

    item: T
    kind: str
    text: str
    is_cut: bool


@dataclass(frozen=True)
class Skipped(Generic[T]):
    item: T
    reason: str


@dataclass
class BudgetUse:
    """What is spent of a budget; a newline counts."""

    budget: Budget
    items: int = 0
    chars: int = 0
    size: int = 0  # bytes, which tokens are estimated from

    @property
    def room(self) -> int:
        """The characters that one more line may have."""
        return self.budget.chars - self.chars - 1

    def has_tokens_for(self, text: str) -> bool:
        if self.budget.tokens is None:
            return True
        size = self.size + len(text.encode()) + 1
        return math.ceil(size / tokens.BYTES_PER_TOKEN) <= self.budget.tokens

    def spend(self, text: str) -> None:
        self.items += 1
        self.chars += len(text) + 1
        self.size += len(text.encode()) + 1

    @property
    def used(self) -> dict[str, int]:
        return {
            "items": self.items,
            "chars": self.chars,
            "tokens": math.ceil(self.size / tokens.BYTES_PER_TOKEN),
        }


@dataclass(frozen=True)
class Selection(Generic[T]):
    taken: list[SelectedLine[T]]
    left_out: list[Skipped[T]]
    total: BudgetUse
    kinds: Mapping[str, BudgetUse] = field(default_factory=dict)


def select(
    lines: Iterable[CandidateLine[T]],
    *,
    total: Budget,
    kinds: Mapping[str, Budget],
    opening: str = "",
) -> Selection[T]:
    """Take lines in their order while the budgets last.

    What breaks the budget of its kind is skipped; the total ends the selection. The
    opening, a line of its own, is paid from the total.
    """
    purse = BudgetUse(total)
    if opening:
        purse.spend(opening)
        purse.items = 0
    each = {kind: BudgetUse(budget) for kind, budget in kinds.items()}
    taken: list[SelectedLine[T]] = []
    left_out: list[Skipped[T]] = []
    for line in lines:
        found = _fit(line, purse, each[line.kind])
        if isinstance(found, Skipped):
            left_out.append(found)
            continue
        taken.append(found)
        for one in (purse, each[line.kind]):
            one.spend(found.text)
    return Selection(taken, left_out, purse, each)


def _fit(
    line: CandidateLine[T], total: BudgetUse, kind: BudgetUse
) -> SelectedLine[T] | Skipped[T]:
    for purse, name in ((total, "total"), (kind, line.kind)):
        if purse.items >= purse.budget.items:
            return Skipped(line.item, f"the {name} budget of items is spent")
    narrow, name = min((total.room, "total"), (kind.room, line.kind))
    text = cut(line, narrow)
    if text is None:
        return Skipped(line.item, f"the {name} budget of characters is spent")
    for attempt in (text, cut(line, int(len(text) * RETRY))):
        if attempt and total.has_tokens_for(attempt) and kind.has_tokens_for(attempt):
            return SelectedLine(
                line.item, line.kind, attempt, len(attempt) < len(line.text)
            )
    return Skipped(line.item, "the budget of tokens is spent")


def cut(line: CandidateLine[T], length: int) -> str | None:
    """The line within `length` characters; None when not even its head fits."""
    if length < line.head:
        return None
    if len(line.text) <= length:
        return line.text
    if length < line.head + len(CUT):
        return None
    return line.text[: length - len(CUT)].rstrip() + CUT

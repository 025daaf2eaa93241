"""Select ranked lines within budgets. A line that is too long may be cut."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from common.text.quote import cut_line
from inference import tokens

T = TypeVar("T")

# If a line has too many tokens for a budget, the line is cut once to this share of its
# characters and tried again (docs/digest.md, "Settings").
RETRY = 0.7


@dataclass(frozen=True)
class Budget:
    """The maximum number of items and characters; also of tokens unless it is None."""

    items: int
    chars: int
    tokens: int | None = None


@dataclass(frozen=True)
class CandidateLine(Generic[T]):
    """A candidate and its line of text. The first `head` characters are never cut.

    The text is written when it is first used, because most candidates are never used.
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
    """A selected line. If `is_cut`, then `text` is only the beginning of the line."""

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
    """How much of a budget is used. The newline after each line counts too."""

    budget: Budget
    items: int = 0
    chars: int = 0
    size: int = 0  # in bytes, from which the tokens are estimated

    @property
    def room(self) -> int:
        """Return the number of characters that one more line may have."""
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
    lines: list[SelectedLine[T]]
    skipped: list[Skipped[T]]
    total: BudgetUse
    kinds: Mapping[str, BudgetUse] = field(default_factory=dict)


def select(
    lines: Iterable[CandidateLine[T]],
    *,
    total: Budget,
    kinds: Mapping[str, Budget],
    opening: str = "",
) -> Selection[T]:
    """Select lines in order, and skip each line that does not fit the budgets.

    Each line uses the total budget and the budget of its kind. The opening is a line
    before the others, and its characters and tokens use the total budget.
    """
    total_use = BudgetUse(total)
    if opening:
        total_use.spend(opening)
        total_use.items = 0
    kind_use = {kind: BudgetUse(budget) for kind, budget in kinds.items()}
    selected: list[SelectedLine[T]] = []
    skipped: list[Skipped[T]] = []
    for line in lines:
        result = _fit(line, total_use, kind_use[line.kind])
        if isinstance(result, Skipped):
            skipped.append(result)
            continue
        selected.append(result)
        for use in (total_use, kind_use[line.kind]):
            use.spend(result.text)
    return Selection(selected, skipped, total_use, kind_use)


def _fit(
    line: CandidateLine[T], total: BudgetUse, kind: BudgetUse
) -> SelectedLine[T] | Skipped[T]:
    for use, name in ((total, "total"), (kind, line.kind)):
        if use.items >= use.budget.items:
            return Skipped(line.item, f"the {name} budget of items is spent")
    room, name = min((total.room, "total"), (kind.room, line.kind))
    # A line without room for its head is not even written.
    text = cut_line(line.text, room, line.head) if room >= line.head else None
    if text is None:
        return Skipped(line.item, f"the {name} budget of characters is spent")
    for attempt in _attempts(line, text):
        if total.has_tokens_for(attempt) and kind.has_tokens_for(attempt):
            return SelectedLine(
                line.item, line.kind, attempt, len(attempt) < len(line.text)
            )
    return Skipped(line.item, "the budget of tokens is spent")


def _attempts(line: CandidateLine[T], text: str) -> Iterator[str]:
    """Yield the text, and then a shorter one."""
    yield text
    if shorter := cut_line(line.text, int(len(text) * RETRY), line.head):
        yield shorter

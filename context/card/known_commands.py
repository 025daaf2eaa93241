"""Count the commands that worked here, so that a session need not look for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ace.models import TaskCommand
from context.card.card_line import CardLine, count, quote
from context.card.card_rows import CommandRow

MIN_SESSIONS = 3  # in which a command was seen to work
MAX_LINES = 12
FAILED_USES = 2  # the last uses of a command that failed end it
Outcome = TaskCommand.CommandOutcome


@dataclass(frozen=True)
class KnownCommand:
    """A command that worked, by its pattern; `rows` are its uses, the newest first."""

    pattern: str
    rows: Sequence[CommandRow]

    @property
    def successes(self) -> list[CommandRow]:
        return [row for row in self.rows if row.outcome == Outcome.WORKED]

    @property
    def sessions(self) -> int:
        return len({row.session for row in self.successes})

    @property
    def has_failed_lately(self) -> bool:
        last = self.rows[:FAILED_USES]
        return len(last) == FAILED_USES and all(
            r.outcome == Outcome.FAILED for r in last
        )


def find(rows: Iterable[CommandRow]) -> list[KnownCommand]:
    """Return the commands seen to work in enough sessions, those of most sessions first."""
    by_pattern: defaultdict[str, list[CommandRow]] = defaultdict(list)
    for row in rows:
        by_pattern[row.pattern].append(row)
    known = [KnownCommand(pattern, uses) for pattern, uses in by_pattern.items()]
    steady = [
        each
        for each in known
        if each.sessions >= MIN_SESSIONS and not each.has_failed_lately
    ]
    steady.sort(key=lambda each: (-each.sessions, each.pattern))
    return steady[:MAX_LINES]


def write(known: Iterable[KnownCommand]) -> list[CardLine]:
    lines = []
    for each in known:
        newest = each.successes[0]
        last = newest.created_at.date()
        text = (
            f"- {newest.kind}: {quote(newest.text)} worked {count(each.sessions, last)}"
        )
        lines.append(CardLine("command", text, newest.text, each.sessions, last))
    return lines

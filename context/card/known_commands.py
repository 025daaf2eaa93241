"""Count the commands that worked here, so that a session need not look for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ace.models import TaskCommand
from common.caller import Caller
from context.card.card_line import CardLine, count, quote
from context.card.card_rows import CommandRow

MIN_SESSIONS = 3  # in which a command was seen to work
MIN_PERSONS = 2  # who showed it, unless one of them may attest
MAX_LINES = 12
FAILED_USES = 2  # the last uses of a command that failed end it
Outcome = TaskCommand.CommandOutcome


@dataclass(frozen=True)
class KnownCommand:
    """A command that worked, by its pattern; `rows` are its uses, the newest first."""

    pattern: str
    rows: Sequence[CommandRow]
    own_names: Collection[str]

    @property
    def successes(self) -> list[CommandRow]:
        return [row for row in self.rows if row.outcome == Outcome.WORKED]

    @property
    def sessions(self) -> int:
        return len({row.session for row in self.successes})

    @property
    def has_failed_lately(self) -> bool:
        last = self.rows[:FAILED_USES]
        return (
            len(last) == FAILED_USES
            and all(r.outcome == Outcome.FAILED for r in last)
            and self.is_shown(last)
        )

    def is_shown(self, rows: Sequence[CommandRow]) -> bool:
        """Whether the reader, a key that may attest, or two persons showed these uses.

        What one other key says of a command is not told.
        """
        persons = {row.person for row in rows} - {""}
        return (
            len(persons) >= MIN_PERSONS
            or any(row.run__is_attested for row in rows)
            or bool(persons & set(self.own_names))
        )

    @property
    def shown(self) -> CommandRow | None:
        """The newest use whose very words are shown: those of one pattern differ in names."""
        by_text: defaultdict[str, list[CommandRow]] = defaultdict(list)
        for row in self.successes:
            by_text[row.text].append(row)
        rows = (uses[0] for uses in by_text.values() if self.is_shown(uses))
        return max(rows, key=lambda row: row.id, default=None)


def find(rows: Iterable[CommandRow], caller: Caller) -> list[KnownCommand]:
    """Return the commands seen to work in enough sessions, those of most sessions first."""
    by_pattern: defaultdict[str, list[CommandRow]] = defaultdict(list)
    for row in rows:
        by_pattern[row.pattern].append(row)
    known = [
        KnownCommand(pattern, uses, caller.own_names)
        for pattern, uses in by_pattern.items()
    ]
    steady = [
        each
        for each in known
        if each.sessions >= MIN_SESSIONS and each.shown and not each.has_failed_lately
    ]
    steady.sort(key=lambda each: (-each.sessions, each.pattern))
    return steady[:MAX_LINES]


def write(known: Iterable[KnownCommand]) -> list[CardLine]:
    lines = []
    for each in known:
        newest = each.shown
        assert newest
        last = each.successes[0].created_at.date()
        text = (
            f"- {newest.kind}: {quote(newest.text)} worked {count(each.sessions, last)}"
        )
        lines.append(CardLine("command", text, newest.text, each.sessions, last))
    return lines

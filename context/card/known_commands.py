"""Count the commands that worked here, so that a session need not look for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ace.models import TaskCommand
from ace.task import check_commands
from common.caller import Caller
from context.card.card_line import CardLine, count, quote
from context.card.card_rows import CommandRow

MIN_SESSIONS = 3  # in which a command ran, whether or not it found faults in the code
MIN_MENDED = 2  # in which one worked and its twin failed
MIN_PERSONS = 2  # who showed it, unless one of them may attest
MAX_LINES = 12
Outcome = TaskCommand.CommandOutcome


@dataclass(frozen=True)
class UsedCommand:
    """A whole command, with its folder and variables; its uses are the newest first."""

    uses: Sequence[CommandRow]

    @property
    def text(self) -> str:
        return self.uses[0].text

    @property
    def works(self) -> bool:
        """Whether it did its work when it was run last."""
        return bool(self.successes) and self.uses[0].outcome != Outcome.FAILED

    @property
    def successes(self) -> list[CommandRow]:
        return [row for row in self.uses if row.outcome == Outcome.WORKED]

    @property
    def sessions(self) -> frozenset[str]:
        return frozenset(row.session for row in self.successes)


@dataclass(frozen=True)
class KnownCommand:
    """A command to say for all of its pattern; its twin `failed`, if there is one.

    A twin has another folder, other variables or another wrapper.
    """

    pattern: str
    shown: UsedCommand
    sessions: int
    failed: str = ""

    def says(self, failure: CardLine) -> bool:
        """Whether the line of a failure says no more than this one."""
        pair = (self.failed, self.shown.text)
        return bool(self.failed) and all(quote(x) in failure.text for x in pair)

    def write(self) -> CardLine:
        rows = self.shown.successes
        last, sessions = rows[0].created_at.date(), len(self.shown.sessions)
        before = f"{quote(self.failed)} failed; " if self.failed else ""
        said = f"{before}{quote(self.shown.text)} worked {count(sessions, last)}"
        found_faults = self.shown.uses[0].outcome == Outcome.FAULTS
        end = "; its last run found faults" if found_faults else ""
        text = f"- {rows[0].kind}: {said}{end}"
        return CardLine("command", text, self.shown.text, sessions, last)


def find(rows: Iterable[CommandRow], caller: Caller) -> list[KnownCommand]:
    """Return the commands seen to work in enough sessions.

    Those whose twin failed come first, then those of most sessions.
    """
    by_text: defaultdict[str, list[CommandRow]] = defaultdict(list)
    for row in rows:
        by_text[row.text].append(row)
    used = [UsedCommand(uses) for uses in by_text.values()]
    twins: defaultdict[tuple[str, ...], list[UsedCommand]] = defaultdict(list)
    for each in used:
        if not each.successes and _is_shown(each.uses, caller.own_names):
            twins[check_commands.core_of(each.text)].append(each)
    by_pattern: defaultdict[str, list[UsedCommand]] = defaultdict(list)
    for each in used:
        by_pattern[each.uses[0].pattern].append(each)
    known = [
        found
        for pattern, lines in by_pattern.items()
        for found in _choose(pattern, lines, twins, caller.own_names)
    ]
    known.sort(key=lambda each: (not each.failed, -each.sessions, each.pattern))
    return known[:MAX_LINES]


def _choose(
    pattern: str,
    lines: Sequence[UsedCommand],
    twins: dict[tuple[str, ...], list[UsedCommand]],
    own_names: Collection[str],
) -> Iterator[KnownCommand]:
    """Yield the line of a pattern that most sessions showed, if they are enough."""
    shown = [
        each for each in lines if each.works and _is_shown(each.successes, own_names)
    ]
    if not shown:
        return
    best = max(shown, key=lambda each: (len(each.sessions), each.uses[0].id))
    core = check_commands.core_of(best.text)
    failed = [
        each.text
        for each in twins.get(core, ())
        if len(best.sessions & {row.session for row in each.uses}) >= MIN_MENDED
    ]
    ran = (row for each in lines for row in each.uses if row.outcome != Outcome.FAILED)
    sessions = len({row.session for row in ran})
    if sessions >= (MIN_MENDED if failed else MIN_SESSIONS):
        yield KnownCommand(pattern, best, sessions, next(iter(failed), ""))


def _is_shown(rows: Sequence[CommandRow], own_names: Collection[str]) -> bool:
    """Whether the reader, a key that may attest, or two persons showed these uses.

    What one other key says of a command is not told.
    """
    persons = {row.person for row in rows} - {""}
    return (
        len(persons) >= MIN_PERSONS
        or any(row.run__is_attested for row in rows)
        or bool(persons & set(own_names))
    )

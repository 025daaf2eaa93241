"""Find which check finds faults that another check of its kind does not see.

Whoever runs the other one alone believes to be done. An example are unit tests that pass
where the integration tests of the same change fail.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from ace.models import TaskCommand
from ace.rules.tool_calls.check_commands import NAME, PATH, TEXT, CheckKind
from context.card.card_line import CardLine, count, quote
from context.card.card_rows import CommandRow

MIN_SESSIONS = 3  # in which one found faults and the other did not
MAX_LINES = 2
# So many times as many sessions as those in which it was the other way round, in any order:
# else the two check different things.
MIN_RATIO = 3
KINDS = frozenset({CheckKind.TEST, CheckKind.LINT, CheckKind.BUILD})
Outcome = TaskCommand.CommandOutcome


@dataclass(frozen=True)
class MissedFault:
    """Two checks of one kind.

    `rows` are the faults of `found_by`, one of each session in which `missed_by` had passed
    before and never failed, the newest first.
    """

    missed_by: str
    found_by: str
    rows: Sequence[CommandRow]


def find(rows: Iterable[CommandRow]) -> list[MissedFault]:
    """Return the pairs that enough sessions showed, those of most sessions first.

    Only commands without a name or a path count: a single test is meant to fail first.
    `found_by` has also worked, so that it fails because of the code.
    """
    missed: defaultdict[tuple[str, str], dict[str, CommandRow]] = defaultdict(dict)
    sessions: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    worked: set[str] = set()
    for uses in _by_task(rows):
        worked.update(pattern for pattern, use in uses.items() if Outcome.WORKED in use)
        for passed, failed in permutations(uses, 2):
            fault = uses[failed].get(Outcome.FAULTS)
            if not fault or set(uses[passed]) != {Outcome.WORKED}:
                continue
            sessions[passed, failed].add(fault.session)
            if uses[passed][Outcome.WORKED].id < fault.id:
                missed[passed, failed].setdefault(fault.session, fault)
    found = [
        MissedFault(passed, failed, list(faults.values()))
        for (passed, failed), faults in missed.items()
        if failed in worked
        and len(faults) >= MIN_SESSIONS
        and len(faults) >= MIN_RATIO * len(sessions[failed, passed])
    ]
    found.sort(key=lambda each: (-len(each.rows), each.missed_by, each.found_by))
    return found[:MAX_LINES]


def _by_task(
    rows: Iterable[CommandRow],
) -> Iterator[Mapping[str, Mapping[str, CommandRow]]]:
    """Yield {pattern: {outcome: row}} for each task and kind of check, the newest first."""
    tasks: defaultdict[
        tuple[uuid.UUID, str], defaultdict[str, dict[str, CommandRow]]
    ] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        if row.kind in KINDS and not any(
            mask in row.pattern for mask in (NAME, PATH, TEXT)
        ):
            tasks[row.run_id, row.kind][row.pattern][row.outcome] = row
    yield from tasks.values()


def write(found: Iterable[MissedFault]) -> list[CardLine]:
    """Return a line for each pair."""
    lines = []
    for each in found:
        newest, sessions = each.rows[0], len(each.rows)
        last = newest.created_at.date()
        text = (
            f"- {newest.kind}: {quote(newest.text)} found what {quote(each.missed_by)}"
            f" did not {count(sessions, last)}"
        )
        lines.append(CardLine("command", text, newest.text, sessions, last))
    return lines

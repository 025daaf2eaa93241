"""Count the failures that came back, and say what cured each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from ace.models import ObservedRepair
from ace.repairs import fix_text, lookup, trust
from ace.repairs.failed_call import FailureSignature
from common.caller import Caller
from context.card.card_line import MAX_WORDS, CardLine, count, quote
from projects.models import Project

MIN_SESSIONS = 2  # in which a failure came back
MAX_LINES = 8
MAX_READ = 3 * MAX_LINES  # failures that are looked at: some may not be said
MAX_NAME = 70  # characters of the name of a failure


def find(
    project: Project, rows: Iterable[ObservedRepair], caller: Caller
) -> list[CardLine]:
    """Return a line for each failure with a cure that two sessions showed, the worst first.

    A cure whose lesson was withdrawn has none.
    """
    groups = list(islice(_groups(rows), MAX_READ))
    known = [row for _, repairs in groups for row in repairs]
    lessons = trust.read_lessons(project, known, caller)
    own = lookup.own_repairs(known, caller)
    lines: list[CardLine] = []
    for name, repairs in groups:
        cure = trust.choose(FailureSignature(name, ""), repairs)
        if cure is None or cure.sessions < MIN_SESSIONS or len(lines) == MAX_LINES:
            continue
        taught = lessons.of(cure.uses)
        fix = lookup.describe_cure(project, cure, own, taught)
        if fix.silence is None:
            sessions = len({row.session for row in repairs})
            last = repairs[0].created_at.date()
            shown = name.removeprefix(f"{fix.words.kind} ")[:MAX_NAME]
            said = fix_text.describe(fix.words, MAX_WORDS)
            text = f"- {fix.words.kind} {quote(shown)}: {said} {count(sessions, last)}"
            lines.append(CardLine("failure", text, name, sessions, last, taught))
    return lines


def _groups(
    rows: Iterable[ObservedRepair],
) -> Iterator[tuple[str, Sequence[ObservedRepair]]]:
    by_name: defaultdict[str, list[ObservedRepair]] = defaultdict(list)
    for row in rows:
        if name := str(row.seen.get("name", "")):
            by_name[name].append(row)
    counted = [
        (len({row.session for row in repairs}), name, repairs)
        for name, repairs in by_name.items()
    ]
    for sessions, name, repairs in sorted(
        counted, key=lambda each: (-each[0], each[1])
    ):
        if sessions >= MIN_SESSIONS:
            yield name, repairs

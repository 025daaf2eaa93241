"""Count the failures that came back, and say what cured each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from ace.fixes import choice, cure_decisions, fix_words, lookup, silence
from ace.fixes.choice import ChosenCure
from ace.fixes.fix_words import FixWords
from ace.models import ObservedRepair
from ace.rules.failures.failed_call import FailureKind, FailureSignature
from common.caller import Caller
from context.card.card_line import MAX_WORDS, CardLine, count, quote
from projects.models import Project

MIN_SESSIONS = 2  # in which a failure came back
MAX_LINES = 8
MAX_READ = 2 * MAX_LINES  # lines whose lessons are looked up: some may be withdrawn
MAX_NAME = 70  # characters of the name of a failure
# What the edits of a linter's issues did, by the name of the cure.
_EDITS = {
    "suppression": "suppress it",
    "wrap": "wrap the error",
    "handle": "handle it",
    "constant": "name a constant",
    "rewrite": "rewrite the line",
}


def find(
    project: Project, rows: Iterable[ObservedRepair], caller: Caller
) -> list[CardLine]:
    """Return a line for each failure with a cure that two sessions showed, the worst first.

    A cure whose lesson was withdrawn has none.
    """
    found = list(islice(_write_lines(project, rows, caller), MAX_READ))
    repairs = (row for _, cure in found for row in cure.repairs)
    decisions = cure_decisions.read(project, repairs, caller)
    decided = (
        replace(line, decisions=decisions.of(cure.repairs)) for line, cure in found
    )
    wanted = (line for line in decided if not line.decisions.are_against)
    return list(islice(wanted, MAX_LINES))


def _write_lines(
    project: Project, rows: Iterable[ObservedRepair], caller: Caller
) -> Iterator[tuple[CardLine, ChosenCure]]:
    own_keys = lookup.own_keys(caller)
    for name, repairs in _groups(rows):
        cure = choice.choose(FailureSignature(name, ""), repairs)
        if cure is None or cure.has_failed_lately:
            continue
        own = [
            row
            for row in cure.repairs
            if row.person in caller.own_names or row.run.key_id in own_keys
        ]
        words = fix_words.choose(cure, trusted=own)
        said = _say(project, cure, words, repairs)
        if said:
            sessions = len({row.session for row in repairs})
            last = repairs[0].created_at.date()
            shown = name.removeprefix(f"{words.kind} ")[:MAX_NAME]
            text = f"- {words.kind} {quote(shown)}: {said} {count(sessions, last)}"
            yield CardLine("failure", text, name, sessions, last), cure


def name_of(signature: str) -> str:
    """Return the name by which the card counts a failure: of a linter, its rule alone."""
    if not signature.startswith("lint "):
        return signature
    return signature.partition(":")[0]


def _groups(
    rows: Iterable[ObservedRepair],
) -> Iterator[tuple[str, Sequence[ObservedRepair]]]:
    by_name: defaultdict[str, list[ObservedRepair]] = defaultdict(list)
    for row in rows:
        if signature := str(row.seen.get("name", "")):
            by_name[name_of(signature)].append(row)
    counted = [
        (len({row.session for row in repairs}), name, repairs)
        for name, repairs in by_name.items()
    ]
    for sessions, name, repairs in sorted(
        counted, key=lambda each: (-each[0], each[1])
    ):
        if sessions >= MIN_SESSIONS:
            yield name, repairs


def _say(
    project: Project,
    cure: ChosenCure,
    words: FixWords,
    repairs: Sequence[ObservedRepair],
) -> str:
    """Return what cured a failure, or "" if that may not be said or says nothing."""
    reason = silence.find_reason(project, cure, words, is_vouched_for=False)
    if words.kind == FailureKind.LINT:
        kinds = _count_edits(repairs)
        has_example = reason is None and words.worked and "\n" not in words.worked
        return f"{kinds}, as in {quote(words.worked)}" if has_example else kinds
    if reason is not None:
        return ""
    if words.kind == FailureKind.SHELL and 0 < len(words.worked) <= MAX_WORDS:
        return f"{quote(words.worked)} worked"
    removed, added = " ".join(words.removed), " ".join(words.added)
    if not added:
        return f"leave out {quote(removed)}"
    return (
        f"{quote(added)} instead of {quote(removed)}"
        if removed
        else f"add {quote(added)}"
    )


def _count_edits(repairs: Sequence[ObservedRepair]) -> str:
    counts = Counter(row.cure for row in repairs if row.has_worked)
    most = [cure for cure, _ in sorted(counts.items(), key=lambda c: (-c[1], c[0]))[:2]]
    return " or ".join(_EDITS.get(cure, cure) for cure in most)

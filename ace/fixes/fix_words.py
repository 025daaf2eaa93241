"""Choose the words of a fix: those of one repair that the caller may be given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ace.fixes.choice import ChosenCure
from ace.models import ObservedRepair
from ace.rules.failures.failed_call import FailureKind

MIN_PERSONS = 2  # who have shown the same words, independently of each other


@dataclass(frozen=True)
class FixWords:
    """What failed and what then worked, as `ace.rules.failures.cures` kept it.

    `is_shared` says that enough people have shown the words, or that the caller trusts one
    of them. `failed` and `worked` are empty if they are the words of one other person.
    """

    kind: str
    cure: str
    failed: str
    worked: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    is_sayable: bool
    is_shared: bool


def choose(cure: ChosenCure, *, trusted: Sequence[ObservedRepair]) -> FixWords:
    """Return the words of a trusted repair, or else those that two people have shown.

    Two repairs of one cure may differ in quotes, paths and code. Nobody gets what only one
    other person wrote there. A command that two persons ran letter by letter is given whole.
    """
    if trusted:
        return _words(cure.example(trusted), is_trusted=True, is_shared=True)
    by_command: defaultdict[str, list[ObservedRepair]] = defaultdict(list)
    for row in cure.repairs:
        by_command[str([row.seen["failed"], row.seen["worked"]])].append(row)
    same = max(by_command.values(), key=_count_persons)
    is_command = same[0].kind == FailureKind.SHELL
    if is_command and _count_persons(same) >= MIN_PERSONS:
        is_local = any(row.seen.get("leads_elsewhere") for row in same)
        return _words(cure.example(same), is_trusted=True, is_shared=not is_local)
    by_words: defaultdict[str, list[ObservedRepair]] = defaultdict(list)
    for row in cure.repairs:
        by_words[str([row.seen.get("removed"), row.seen.get("added")])].append(row)
    shared = max(by_words.values(), key=_count_persons)
    is_shared = _count_persons(shared) >= MIN_PERSONS
    leads_elsewhere = any(row.seen.get("leads_elsewhere") for row in shared)
    return _words(
        cure.example(shared),
        is_trusted=False,
        is_shared=is_shared and not leads_elsewhere,
    )


def _count_persons(rows: Sequence[ObservedRepair]) -> int:
    return len({row.person for row in rows})


def _words(row: ObservedRepair, *, is_trusted: bool, is_shared: bool) -> FixWords:
    seen = row.seen
    # Without the code, that a line was rewritten says nothing.
    is_empty = row.cure == "rewrite" and not is_trusted
    return FixWords(
        kind=row.kind,
        cure=row.cure,
        failed=seen["failed"] if is_trusted else "",
        worked=seen["worked"] if is_trusted else "",
        removed=tuple(seen["removed"]),
        added=tuple(seen["added"]),
        is_sayable=seen["is_sayable"] and not is_empty,
        is_shared=is_shared,
    )

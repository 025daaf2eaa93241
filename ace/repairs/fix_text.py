"""Write a known fix in one line; the words of commands and code are JSON strings."""

from __future__ import annotations

from ace.repairs.failed_call import FailureKind
from ace.repairs.trust import ChosenCure, FixWords
from common.text.quote import json_string

# In characters: a line has at most 150 tokens of 4 bytes.
MAX_NAME, MAX_WORDS, MAX_COMMAND = 100, 120, 240
# What the edits of a linter's issues did, by the name of the cure.
_EDITS = {
    "suppression": "suppress it",
    "wrap": "wrap the error",
    "handle": "handle it",
    "constant": "name a constant",
    "rewrite": "rewrite the line",
}


def write(cure: ChosenCure, words: FixWords) -> str:
    """Return what worked, beside what failed, how often and when.

    Such as: Run "go test -tags=it ./a" instead of "go test -tag=it ./a": it worked after
    "shell go: flag provided but not defined: -tag" (2 times in 2 sessions, last on 2026-11-20;
    run 0198…). Who may not be given the words of one other person reads only those that two
    have shown.
    """
    name = json_string(cure.signature.name, MAX_NAME)
    return (
        f"{describe(words)}: it worked after {name} "
        f"({_count(cure.times, 'time')} in {_count(cure.sessions, 'session')}, "
        f"last on {cure.newest.created_at:%Y-%m-%d}; run {cure.newest.run_id})."
    )


def describe(words: FixWords, limit: int = MAX_COMMAND) -> str:
    """Say in the imperative what worked, beside what failed."""
    worked, failed = json_string(words.worked, limit), json_string(words.failed, MAX_WORDS)  # fmt: skip
    if words.kind == FailureKind.LINT:
        what = describe_edit(words.cure)
        what = f"{what[:1].upper()}{what[1:]}"
        return f"{what}: {worked} instead of {failed}" if words.worked else what
    if words.kind == FailureKind.TOOL:
        if not words.worked:
            return f"Leave out {words.failed}"
        instead = f" instead of {words.failed}" if words.failed else ""
        return f"Pass {words.worked}{instead}"
    verb = "Run" if words.kind == FailureKind.SHELL else "Open"
    return f"{verb} {worked} instead of {failed}"


def describe_edit(cure: str) -> str:
    return _EDITS.get(cure, _EDITS["rewrite"])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

"""Write a known fix in one line; the words of commands and code are JSON strings."""

from __future__ import annotations

from ace.fixes.choice import ChosenCure
from ace.fixes.fix_words import FixWords
from ace.rules.failures.failed_call import FailureKind
from common.text.quote import json_string

# In characters: a line has at most 150 tokens of 4 bytes.
MAX_NAME, MAX_WORDS, MAX_COMMAND = 130, 120, 240
# What the edits of a linter's issues did, by the name of the cure.
_EDITS = {
    "suppression": "it was suppressed",
    "wrap": "the error was wrapped",
    "handle": "it was handled",
    "constant": "a constant was named",
    "rewrite": "the line was rewritten",
}


def write(cure: ChosenCure, words: FixWords) -> str:
    """Return when the failure was seen, what then worked, how often, and the last run.

    Such as: On 2026-11-20 "shell go: unknown flag: --fst" was seen; "go test --fast" then
    worked (3 times in 2 sessions; run 0198…). Who may not be given the command of one
    other person reads only the words that two have shown.
    """
    name = json_string(cure.signature.name, MAX_NAME)
    return (
        f"On {cure.newest.created_at:%Y-%m-%d} {name} was seen; {_describe(words)} "
        f"({_count(cure.times, 'time')} in {_count(cure.sessions, 'session')}; "
        f"run {cure.newest.run_id})."
    )


def _describe(words: FixWords) -> str:
    if words.kind == FailureKind.LINT:
        what = _EDITS.get(words.cure, _EDITS["rewrite"])
        if not words.worked:
            return what
        return f"{what}: {_quote(words.worked)} instead of {_quote(words.failed)}"
    if words.kind == FailureKind.SHELL and 0 < len(words.worked) <= MAX_COMMAND:
        return f"{json_string(words.worked, MAX_COMMAND)} then worked"
    removed, added = _quote(" ".join(words.removed)), _quote(" ".join(words.added))
    noun = "the argument " if words.kind == FailureKind.TOOL else ""
    if not words.added:
        return f"without {noun}{removed} it then worked"
    if not words.removed:
        return f"with {noun}{added} it then worked"
    return f"with {noun}{added} instead of {removed} it then worked"


def _quote(words: str) -> str:
    return json_string(words, MAX_WORDS)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

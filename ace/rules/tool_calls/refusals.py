"""Recognize the results of calls that a person refused or interrupted."""

from __future__ import annotations

import re

from ace.rules import word_tables

# What a harness puts before its words.
_OPENING = r"\s{0,20}(?:<tool_use_error>|<error>|Error: |\{\"error\": ?\"){0,2}"


def _pattern(words: str) -> str:
    """Return the pattern of a line of the table; `…` is any text in one line."""
    return r"[^\n]{1,400}".join(map(re.escape, words.split("…")))


# The words of Claude Code, Codex, Gemini CLI, Cursor and opencode.
_REFUSAL = re.compile(
    rf"{_OPENING}(?:{'|'.join(map(_pattern, sorted(word_tables.read('refusals'))))})"
)


def is_refusal(result: str) -> bool:
    """Return whether the result says that a person refused the call, or interrupted it."""
    return bool(_REFUSAL.match(result))

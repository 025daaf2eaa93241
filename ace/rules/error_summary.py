"""Quote the part of an error message that stays the same in other runs."""

from __future__ import annotations

import re

from ace.rules.evidence import Evidence

_CUT_WORDS = 16
_PREFIXES = (
    "Error: ",
    "ERROR: ",
    "error: ",
    "fatal: ",
    "npm ERR! ",
    "bash: ",
    "sh: ",
    "E  ",
)
# Finds the message inside an error object or an error tag.
_WRAPPED = re.compile(
    r"\"(?:error|message|detail|error_message|msg)\"[ ]?:[ ]?\"(?P<inner>[^\"\\]{3,300})\""
    r"|<(?:tool_use_)?error>(?P<text>[^<>]{3,300})"
)


def summarise(quote: str, error: Evidence) -> str:
    """Return a quote of the part of an error that stays the same in other runs.

    For a traceback, quote the last line. Cut the quote before its first number, because
    numbers belong to this task only.
    """
    line = quote.rstrip().rsplit("\n", 1)[-1] if error.kind == "exception" else quote
    line = line.strip().split("\n", 1)[0].strip(" -")
    wrapped = _WRAPPED.search(line)
    line = wrapped["inner"] or wrapped["text"] if wrapped else line
    for prefix in _PREFIXES:
        line = line.removeprefix(prefix).strip()
    words = line.split(" ")[:_CUT_WORDS]
    line = _before_numbers(" ".join(words)).rstrip(" .,:;(-")
    return as_quote(line)


def as_quote(line: str) -> str:
    """Put a line into marks that it does not contain."""
    if '"' not in line:
        return f'"{line}"'
    return f"`{line}`" if "`" not in line else line


def _before_numbers(line: str) -> str:
    """Cut the line before its first number if at least three words remain."""
    digit = next((at for at, char in enumerate(line) if char.isdigit()), -1)
    if digit < 0:
        return line
    head = line[:digit]
    for mark in (", ", ": ", "; ", " "):
        short = head.rpartition(mark)[0]
        if len(short.split()) >= 3:
            return short
    return line

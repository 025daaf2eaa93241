"""Choose the lines of a result that tell its errors."""

from __future__ import annotations

import re

from ace.rules import error_signature, evidence
from ace.rules.evidence import Evidence

MAX_LINES = 6  # different errors
MAX_LINE = 200  # characters
# A compiler or a linter names a position before each message.
_POSITION = re.compile(r"^[^\s:][^\n:]{0,200}:\d{1,7}(?::\d{1,5})?:? \S", re.MULTILINE)
_PLACE = re.compile(r"^\S+:\d{1,7}(?::\d{1,5})?:? ")
_QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"")
_EXIT_CODE = re.compile(
    r"\s*(?:error: )?exit (?:code|status):? -?\d+\s*", re.IGNORECASE
)


def find_lines(text: str) -> list[str]:
    """Return at most MAX_LINES lines in order, each message once, whatever it names.

    An exit code tells no error. There are none if the text has no known error.
    """
    spans = [s for s in evidence.scan(text, "") if s.kind != "exit_code"]
    starts = {_last_line_start(text, span) for span in spans}
    starts |= {found.start() for found in _POSITION.finditer(text)}
    different: dict[str, str] = {}
    for start in sorted(starts):
        line = _line_at(text, start)
        different.setdefault(_message_key(line), line)
    return list(different.values())[:MAX_LINES]


def choose_lines(text: str) -> list[str]:
    """Like `find_lines`; without a known error, return the first line that has words."""
    return find_lines(text) or _first_line(text)


def cut_place(line: str) -> str:
    """Return what a compiler or a linter says, without the place where it says it."""
    return _PLACE.sub("", line)


def _last_line_start(text: str, span: Evidence) -> int:
    """Return where the last line of a span begins: that of a traceback has its message."""
    end = len(text[: span.end].rstrip())
    return text.rfind("\n", 0, max(end, span.start)) + 1


def _line_at(text: str, start: int) -> str:
    return _cut(text[start:].split("\n", 1)[0].strip())


def _cut(line: str) -> str:
    """Cut out the middle of a long line: a linter names its rule at the end."""
    if len(line) <= MAX_LINE:
        return line
    return f"{line[: MAX_LINE * 2 // 3]} … {line[-MAX_LINE // 3 :]}"


def _first_line(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = (line for line in lines if not _EXIT_CODE.fullmatch(line))
    return [_cut(next(telling, lines[0]))] if lines else []


def _message_key(line: str) -> str:
    """Return the message without its place, its quotes and its numbers."""
    message = _QUOTED.sub("'…'", cut_place(line))
    return error_signature.mask_values(message)

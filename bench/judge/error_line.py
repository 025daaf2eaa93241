"""Choose the line of a result that tells the error."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from bench.judge.shell_command import mask

# A line that stands in the successes of so many sessions says nothing about a failure.
BANNER_SESSIONS = 3
MAX_LINE = 300  # characters of a line that count

_ANSI = re.compile(r"\x1b?\[[0-9;]*m")
_NEVER = re.compile(
    r"^(?:Exit code \d+|Traceback \(most recent|\s*File \".*\", line \d+|\s*at .+:\d+|={3,}|-{3,}"
    r"|\s*\^+|During handling of|The above exception|\S*warning:|usage:|hint:|\s*$"
    # What a runner of tasks says after the program that it ran.
    r"|.*ERROR task failed|npm (?:ERR!|error) (?:code|path|command|A complete|Lifecycle)"
    r"|make: \*\*\*|.*ELIFECYCLE|error: script .* exited)",
    re.IGNORECASE,
)
_NOT_FOUND = re.compile(r"no such file|not found|no module named", re.IGNORECASE)
# Of the kinds of lines, the first that a result has tells the error. Flags and what was not
# found come before what could not be parsed, and both before other errors.
_KINDS = (
    re.compile(
        r"(?:unknown|unrecognized|invalid|illegal|no such|ambiguous)\s(?:shorthand\s)?"
        r"(?:flag|option|argument|command|subcommand)|flag provided but not defined"
        r"|no such file|not found|no module named|cannot find|does not exist"
        r"|did not match|unknown revision|permission denied",
        re.IGNORECASE,
    ),
    re.compile(
        r"parse error|syntax error|SyntaxError|failed to parse|unexpected token"
        r"|HTTP/?\s?\d*\D{0,3}[45]\d\d|status(?: code)? [45]\d\d|invalid",
        re.IGNORECASE,
    ),
    re.compile(
        r"^\S*(?:fatal|error|exception|panic)\b|\b(?:fatal|error):", re.IGNORECASE
    ),
    re.compile(r"fail|conflict|denied|cannot|could not|unable|must", re.IGNORECASE),
)
_EXCEPTION = re.compile(r"^[\w.]+(?:Error|Exception|Exit|Interrupt)(?::|$)")


class BannerLines:
    """The lines of successful commands, by the sessions in which they stood."""

    def __init__(self) -> None:
        self._sessions: defaultdict[str, set[int]] = defaultdict(set)

    def add(self, session: int, results: Iterable[str]) -> None:
        for text in results:
            for line in _clean_lines(text):
                self._sessions[mask(line)].add(session)

    def has(self, line: str) -> bool:
        if _NOT_FOUND.search(line):
            return False
        return len(self._sessions.get(mask(line), ())) >= BANNER_SESSIONS


def is_traceback_frame(line: str) -> bool:
    """Whether a line only leads to the error: a frame, a rule, a warning, a usage."""
    return bool(_NEVER.match(line))


def find_error_line(text: str, banners: BannerLines) -> str:
    """Return the last exception, or the program's own complaint; "" if there is neither.

    Without a line of a known kind, it is the last line.
    """
    lines = [
        line
        for line in _clean_lines(text)
        if not is_traceback_frame(line) and not banners.has(line)
    ]
    if exceptions := [line for line in lines if _EXCEPTION.match(line)]:
        return exceptions[-1]
    return _first_of_kind(lines) or (lines[-1] if lines else "")


def _first_of_kind(lines: Sequence[str]) -> str:
    for kind in _KINDS:
        if found := next(filter(kind.search, lines), None):
            return found
    return ""


def _clean_lines(text: str) -> list[str]:
    plain = _ANSI.sub("", text)
    return [line.rstrip()[:MAX_LINE] for line in plain.splitlines() if line.strip()]

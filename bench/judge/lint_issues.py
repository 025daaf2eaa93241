"""Read the issues that linters of several languages print: file, line, rule and message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.judge.shell_command import mask_code

# Rules that stand for the compiler or a checker of types: no rule that people chose.
COMPILER_RULES = frozenset({"typecheck", "syntax", "syntax-error"})

_POSITION = (
    r"(?P<file>[^\s:]+\.\w{1,8}|[^\s:/]*/[^\s:]+):(?P<line>\d+)(?::(?P<column>\d+))?:?"
)
# file:line:col: message (rule); rules in parentheses, or a code before the message.
_RULE_LAST = re.compile(
    rf"^{_POSITION}\s+(?P<message>\S(?:.*?\S)?)\s+\((?P<rule>[a-z][\w/-]+)\)$"
)
_CODE_FIRST = re.compile(
    rf"^{_POSITION}\s+(?:[CWEFIR]:\s+)?(?:\[Correctable\]\s+)?"
    r"(?P<rule>[A-Z]{1,6}\d{2,5}|[A-Z]\w+/[A-Z]\w+)\b:?\s+(?:\[\*\]\s+)?(?P<message>.+)$"
)
# eslint's own format: the file on a line of its own, then `  3:5  error  message  rule`.
_ESLINT_FILE = re.compile(r"^(?P<file>/?[\w.@~-][^\s:]*\.\w{1,8})$")
_ESLINT = re.compile(
    r"^\s+(?P<line>\d+):\d+\s+(?:error|warning)\s+(?P<message>\S(?:.*?\S)?)\s{2,}"
    r"(?P<rule>@?[\w-]+(?:/[\w-]+)*)$"
)
# ruff, clippy and rustc: the message, and below it an arrow to the position.
_HEAD = re.compile(
    r"^(?:(?P<rule>[A-Z]{1,6}\d{2,5})(?:\s+\[\*\])?|warning|error):?\s+(?P<message>.+)$"
)
_ARROW = re.compile(r"^\s*-->\s+(?P<file>[^\s:]+):(?P<line>\d+):\d+")
_CLIPPY = re.compile(r"(?:clippy::|#\[(?:warn|deny)\()(?P<rule>[\w:]+)")
ARROW_LINES = 3  # below the message
CLIPPY_LINES = 14
# shellcheck: the position, the source, and the codes below it.
_SHELL_FILE = re.compile(r"^In (?P<file>\S+) line (?P<line>\d+):$")
_SHELL_CODE = re.compile(
    r"\^-*\^?\s*(?P<rule>SC\d{4})(?: \(\w+\))?:\s+(?P<message>.+)$"
)


@dataclass(frozen=True)
class LintIssue:
    """One issue; `source` is the line of code below it, if the linter shows it."""

    file: str
    line: int
    rule: str
    message: str
    source: str = ""

    @property
    def signature(self) -> str:
        return f"lint {self.rule}: {mask_code(self.message)}"


def read_issues(text: str) -> tuple[LintIssue, ...]:
    """Return the issues that are no errors of a compiler, in order."""
    lines = text.splitlines()
    return tuple(
        issue
        for issue in _read(lines)
        if issue.rule not in COMPILER_RULES and not issue.rule.startswith("TS")
    )


def _read(lines: Sequence[str]) -> Iterator[LintIssue]:
    file = ""  # of the issues below it
    line = 0
    for at, text in enumerate(lines):
        if found := _RULE_LAST.match(text) or _CODE_FIRST.match(text):
            yield _issue(found, found["file"], int(found["line"]), lines, at)
        elif found := _ESLINT_FILE.match(text):
            file = found["file"]
        elif file and (found := _ESLINT.match(text)):
            yield _issue(found, file, int(found["line"]), (), at)
        elif found := _SHELL_FILE.match(text):
            file, line = found["file"], int(found["line"])
        elif file and (found := _SHELL_CODE.search(text)):
            yield _issue(found, file, line, (), at)
        elif found := _HEAD.match(text):
            yield from _read_below(found, lines, at)


def _read_below(
    head: re.Match[str], lines: Sequence[str], at: int
) -> Iterator[LintIssue]:
    """Yield the issue whose position is below its message, if it names a rule."""
    below = lines[at + 1 : at + 1 + ARROW_LINES]
    arrow = next(filter(None, map(_ARROW.match, below)), None)
    if arrow is None:
        return
    rule = head["rule"] or _find_clippy_rule(lines[at + 1 : at + 1 + CLIPPY_LINES])
    if rule:
        number = int(arrow["line"])
        yield LintIssue(
            arrow["file"],
            number,
            rule,
            head["message"],
            _numbered_source(lines[at + 1 : at + 1 + CLIPPY_LINES], number),
        )


def _find_clippy_rule(below: Sequence[str]) -> str:
    for text in below:
        if not text.strip():
            return ""
        if found := _CLIPPY.search(text):
            return found["rule"].removeprefix("clippy::")
    return ""


def _numbered_source(below: Sequence[str], number: int) -> str:
    """Return the source in `12 |  let x = 1;`."""
    pattern = re.compile(rf"^\s*{number}\s*\|(?P<source>.*)$")
    found = next(filter(None, map(pattern.match, below)), None)
    return found["source"].strip() if found else ""


def _issue(
    found: re.Match[str], file: str, line: int, lines: Sequence[str], at: int
) -> LintIssue:
    below = lines[at + 1] if at + 1 < len(lines) else ""
    source = below.strip() if below[:1] in (" ", "\t") or _is_code(below) else ""
    return LintIssue(file, line, found["rule"], found["message"], source)


def _is_code(text: str) -> bool:
    """Whether the line below an issue is its source, and no other line of the report."""
    return not re.match(rf"{_POSITION}|\d+ issues?|\[|\*|Found|$", text)

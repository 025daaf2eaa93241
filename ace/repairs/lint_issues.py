"""Read the issues that linters print: file, rule, message, and the line of code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ace.repairs import masks

# These rules are those of a compiler or of a checker of types; no project chose them.
_COMPILER_RULES = frozenset({"typecheck", "syntax", "syntax-error"})
MAX_ISSUES = 200

_POSITION = r"(?P<file>[^\s:]{1,300}):\d{1,7}(?::\d{1,5})?:?"
# file:3:5: message (rule): golangci-lint, staticcheck, ansible-lint
_RULE_LAST = re.compile(
    rf"{_POSITION}\s{{1,4}}(?P<message>.{{1,300}}?)\s{{1,4}}\((?P<rule>[a-z][\w/,-]{{1,60}})\)$"
)
# file:3:5: F401 message: ruff, flake8, pylint, rubocop
_RULE_FIRST = re.compile(
    rf"{_POSITION}\s{{1,4}}(?:[CWEFIR]:\s{{1,4}}(?:\[Correctable\]\s)?)?"
    r"(?P<rule>[A-Z]{1,6}\d{2,5}|[A-Z]\w{1,40}/[A-Z]\w{1,60})\b:?\s{1,4}(?:\[\*\]\s{1,4})?"
    r"(?P<message>.{1,300})$"
)
# eslint: the file on a line of its own, then `  3:5  error  message  rule`
_FILE_ALONE = re.compile(r"(?P<file>/?[\w.@~-][^\s:]{0,300}\.\w{1,8})$")
_BELOW_FILE = re.compile(
    r"\s{1,8}\d{1,7}:\d{1,5}\s{1,8}(?:error|warning)\s{1,8}(?P<message>.{1,300}?)\s{2,40}"
    r"(?P<rule>@?[\w-]{1,60}(?:/[\w-]{1,60}){0,3})$"
)
# ruff, clippy: the message, and below it an arrow to the position
_HEAD = re.compile(
    r"(?:(?P<rule>[A-Z]{1,6}\d{2,5})(?: \[\*\])?|warning|error):? {1,4}(?P<message>.{1,300})$"
)
_ARROW = re.compile(r"\s{0,8}--> (?P<file>[^\s:]{1,300}):(?P<line>\d{1,7}):\d")
_CLIPPY = re.compile(r"(?:clippy::|#\[(?:warn|deny)\()(?P<rule>[\w:]{1,60})")
ARROW_LINES, RULE_LINES = 3, 14  # below the message
# shellcheck: the position and the code, and the rules below them
_IN_FILE = re.compile(r"In (?P<file>\S{1,300}) line \d{1,7}:$")
_BELOW_CODE = re.compile(
    r".{0,200}\^-{0,200}\^?\s{0,4}(?P<rule>SC\d{4})(?: \(\w{1,20}\))?:\s{1,4}(?P<message>.{1,300})$"
)
_REPORT_LINE = re.compile(rf"{_POSITION}|\d{{1,6}} issues?|[\[*]|Found |level=|$")


@dataclass(frozen=True)
class ReportedIssue:
    """One issue of a linter; `source` is the line of code, if the linter shows it."""

    file: str
    rule: str
    message: str
    source: str = ""

    @property
    def name(self) -> str:
        return f"{self.rule}: {masks.mask_code(self.message)}"


def read(text: str) -> list[ReportedIssue]:
    """Return the issues of a report that are no errors of a compiler, in order."""
    issues: list[ReportedIssue] = []
    for issue in _read(text.splitlines()):
        if issue.rule in _COMPILER_RULES or issue.rule.startswith("TS"):
            continue
        issues.append(issue)
        if len(issues) == MAX_ISSUES:
            break
    return issues


def _read(lines: Sequence[str]) -> Iterator[ReportedIssue]:
    file = ""
    for at, whole in enumerate(lines):
        line = whole[:700]
        found = _RULE_LAST.match(line) or _RULE_FIRST.match(line)
        if found and ("." in found["file"] or "/" in found["file"]):
            below = lines[at + 1] if at + 1 < len(lines) else ""
            source = "" if _REPORT_LINE.match(below) else below.strip()[:300]
            yield ReportedIssue(found["file"], found["rule"], found["message"], source)
        elif found := _FILE_ALONE.match(line) or _IN_FILE.match(line):
            file = found["file"]
        elif file and (found := _BELOW_FILE.match(line) or _BELOW_CODE.match(line)):
            yield ReportedIssue(file, found["rule"], found["message"])
        elif found := _HEAD.match(line):
            yield from _read_below(found, lines[at + 1 : at + 1 + RULE_LINES])


def _read_below(head: re.Match[str], below: Sequence[str]) -> Iterator[ReportedIssue]:
    """Yield the issue whose position and rule stand below its message."""
    arrow = next(filter(None, map(_ARROW.match, below[:ARROW_LINES])), None)
    rule = head["rule"] or _clippy_rule(below)
    if arrow and rule:
        source = _numbered_source(below, arrow["line"])
        yield ReportedIssue(arrow["file"], rule, head["message"], source)


def _clippy_rule(below: Sequence[str]) -> str:
    for line in below:
        if not line.strip():
            return ""
        if found := _CLIPPY.search(line[:300]):
            return found["rule"].removeprefix("clippy::")
    return ""


def _numbered_source(below: Sequence[str], number: str) -> str:
    """Return the code of `12 |  let x = 1;`."""
    for line in below:
        left, bar, code = line[:400].partition("|")
        if bar and left.strip() == number:
            return code.strip()[:300]
    return ""

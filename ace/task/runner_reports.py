"""Count the tests that passed and failed in the reports of common test runners."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Counts(NamedTuple):
    passed: int
    failed: int


@dataclass(frozen=True)
class _Form:
    """How a runner writes its totals; the last report counts, or all of them `add_up`.

    The groups are `body` (words with their numbers), `verdict` (of one test), or the numbers
    `ran`, `passed` and `failed`.
    """

    pattern: re.Pattern[str]
    add_up: bool = False


def _form(pattern: str, *, add_up: bool = False, flags: int = 0) -> _Form:
    filled = pattern.replace("#", r"\d{1,7}").replace("@", _CASES)
    return _Form(re.compile(filled, flags | re.MULTILINE), add_up)


# In characters. The totals are at the end of a report. Before it may be an earlier report.
TAIL = 60_000
_CASES = r"(?:unit |integration |test )?(?:tests?|test cases|cases|specs?|checks)"
_FORMS = (
    # pytest
    _form(r"(?:={2,80} |^)(?P<body># (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed"
          r"|warnings?)[^\n=]{0,120}) in \d{1,6}(?:\.\d{1,4})?s"),
    # unittest
    _form(r"^Ran (?P<ran>#) tests? in [^\n]{0,80}\n{1,3}(?:[^\n]{0,200}\n){0,3}?"
          r"(?:OK|FAILED)(?P<body> \([^)\n]{0,120}\))?[ \t\r]{0,4}$"),
    # jest, vitest
    _form(r"^[ \t]{0,8}Tests:?[ \t]{1,8}(?P<body># [a-z]{2,12}[^\n]{0,120})"),
    # cargo: the counts of several crates are added up
    _form(r"^test result: \w{2,8}\. (?P<body># passed; # failed)", add_up=True),
    # go test: single tests, or packages
    _form(r"^[ \t]{0,16}--- (?P<verdict>PASS|FAIL): ", add_up=True),
    _form(r"^(?P<verdict>ok|FAIL)[ ]{0,4}\t[^\s]{1,200}[ \t]{1,4}(?:\d|\(cached\)|\[)", add_up=True),
    # maven, mocha, rspec, phpunit, TAP
    _form(r"Tests run: (?P<ran>#), (?P<body>Failures: #, Errors: #)"),
    _form(r"^[ \t]{0,8}(?P<body># passing\b[^\n]{0,80}(?:\n[^\n]{0,80}){0,2})"),
    _form(r"\b(?P<ran>#) examples?, (?P<body># failures?)\b"),
    _form(r"\bOK \((?P<ran>#) tests?, # assertions?\)"),
    _form(r"^Tests: (?P<ran>#), Assertions: #(?P<body>[^\n]{0,120})"),
    _form(r"^\x23 (?P<body>(?:pass|fail)[ \t]{1,8}#)\b", add_up=True),
    # people
    _form(r"\bfailed (?P<failed>#) (?:out )?of (?:the )?(?P<ran>#) @"),
    _form(r"\b(?P<failed>#)(?: out)? of (?:the )?(?P<ran>#) @ (?:have )?fail"),
    _form(r"\bpassed (?P<passed>#) (?:out )?of (?:the )?(?P<ran>#) @"),
    _form(r"\b(?P<passed>#)(?:/| (?:out )?of (?:the )?)(?P<ran>#) @ (?:have |are |now )?pass"),
    _form(r"\ball (?P<passed>#) @ (?:have |are |now )?pass", flags=re.IGNORECASE),
    # "after 2 failed attempts" is no report
    _form(r"\b(?P<body># (?:@ )?(?:have |has )?(?:passed|failed|passing|failing|errored))\b"
          r"(?=[ ]{0,2}(?:[,.;:|)\n]|$|in\b|and\b|but\b))"
          r"|\b(?P<after>(?:passed|failed)[:=] ?#)\b", add_up=True, flags=re.IGNORECASE),
)  # fmt: skip
_PART = re.compile(
    rf"(?P<n>\d{{1,7}}) (?:{_CASES} )?(?:have |has )?(?P<word>[a-z]{{2,12}})"
    r"|(?P<name>[a-z]{2,12})[=: \t]{1,8}(?P<number>\d{1,7})",
    re.IGNORECASE,
)
_GOOD = frozenset({"passed", "passing", "pass", "xpassed"})
_BAD = frozenset(
    ["failed", "failing", "fail", "error", "errors", "errored", "failure", "failures"]
)
# One of these is in every report; looking for them is faster than the patterns.
_HINTS = (
    "pass",
    "Pass",
    "PASS",
    "fail",
    "Fail",
    "FAIL",
    "Ran ",
    "OK (",
    "ok ",
    "error",
)


def count_tests(text: str) -> Counts | None:
    """Return the counts of the last report in the text, or None if there is no report.

    Errors count as failures.
    """
    tail = text[-TAIL:]
    if not any(hint in tail for hint in _HINTS):
        return None
    for form in _FORMS:
        found = [_count(match) for match in form.pattern.finditer(tail)]
        counts = _sum(found if form.add_up else found[-1:])
        if counts.passed + counts.failed:
            return counts
    return None


def _sum(counts: Iterable[Counts]) -> Counts:
    passed = failed = 0
    for each in counts:
        passed, failed = passed + each.passed, failed + each.failed
    return Counts(passed, failed)


def _count(match: re.Match[str]) -> Counts:
    groups = match.groupdict()
    if verdict := groups.get("verdict"):
        return Counts(verdict != "FAIL", verdict == "FAIL")
    good, bad, skipped = _words(groups.get("body") or groups.get("after") or "")
    failed = int(groups.get("failed") or bad)
    passed = int(groups.get("passed") or good)
    if ran := int(groups.get("ran") or 0):
        if groups.get("passed"):
            return Counts(passed, max(ran - passed, 0))
        return Counts(max(ran - failed - skipped, 0), failed)
    return Counts(passed, failed)


def _words(body: str) -> tuple[int, int, int]:
    """Return how many passed, failed and were skipped, by the words of a report."""
    good = bad = skipped = 0
    for part in _PART.finditer(body):
        word = (part["word"] or part["name"]).lower()
        number = int(part["n"] or part["number"])
        good += number * (word in _GOOD)
        bad += number * (word in _BAD)
        skipped += number * (word == "skipped")
    return good, bad, skipped

"""Count the tests that passed and failed in the reports of common test runners."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple


class Counts(NamedTuple):
    passed: int
    failed: int


# In characters. The totals are at the end of a report. Before it may be an earlier report.
TAIL = 60_000

_N = r"\d{1,7}"
_PYTEST = re.compile(
    rf"(?:={{2,80}} |^)(?P<body>{_N} (?:passed|failed|errors?|skipped|deselected"
    rf"|xfailed|xpassed|warnings?)[^\n=]{{0,120}}) in \d{{1,6}}(?:\.\d{{1,4}})?s",
    re.MULTILINE,
)
_PART = re.compile(rf"(?P<count>{_N}) (?P<word>[a-z]{{2,12}})")
_UNITTEST = re.compile(rf"^Ran (?P<ran>{_N}) tests? in ", re.MULTILINE)
_UNITTEST_END = re.compile(
    r"^(?P<verdict>OK|FAILED)(?: \((?P<body>[^)\n]{0,120})\))?[ \t\r]{0,4}$",
    re.MULTILINE,
)
_UNITTEST_PART = re.compile(rf"(?P<word>failures|errors|skipped)=(?P<count>{_N})")
_JEST = re.compile(
    rf"^[ \t]{{0,8}}Tests:?[ \t]{{1,8}}(?P<body>{_N} [a-z]{{2,12}}[^\n]{{0,120}})",
    re.MULTILINE,
)
_MOCHA = re.compile(rf"^[ \t]{{0,8}}(?P<passed>{_N}) passing\b", re.MULTILINE)
_MOCHA_FAILING = re.compile(rf"^[ \t]{{0,8}}(?P<failed>{_N}) failing\b", re.MULTILINE)
_CARGO = re.compile(
    rf"^test result: \w{{2,8}}\. (?P<passed>{_N}) passed; (?P<failed>{_N}) failed",
    re.MULTILINE,
)
_GO_TEST = re.compile(r"^[ \t]{0,16}--- (?P<verdict>PASS|FAIL): ", re.MULTILINE)
_GO_PACKAGE = re.compile(
    r"^(?P<verdict>ok|FAIL)[ ]{0,4}\t[^\s]{1,200}[ \t]{1,4}"
    r"(?:\d|\(cached\)|\[)",
    re.MULTILINE,
)
_MAVEN = re.compile(
    rf"Tests run: (?P<ran>{_N}), Failures: (?P<failures>{_N}), Errors: (?P<errors>{_N})"
)
_RSPEC = re.compile(rf"\b(?P<ran>{_N}) examples?, (?P<failed>{_N}) failures?\b")
_PHPUNIT = re.compile(rf"\bOK \((?P<ran>{_N}) tests?, {_N} assertions?\)")
_PHPUNIT_FAILED = re.compile(
    rf"^Tests: (?P<ran>{_N}), Assertions: {_N}(?P<body>[^\n]{{0,120}})", re.MULTILINE
)
_TAP = re.compile(rf"^# (?P<word>pass|fail)[ \t]{{1,8}}(?P<count>{_N})\b", re.MULTILINE)
_LIBTEST_WORDS = (
    r"(?:unit |integration |test )?(?:tests?|test cases|cases|specs?|checks)"
)
_FAILED_OF = re.compile(
    rf"\b(?:failed (?P<a>{_N}) (?:out )?of (?:the )?(?P<m>{_N}) {_LIBTEST_WORDS}"
    rf"|(?P<b>{_N})(?: out)? of (?:the )?(?P<n>{_N}) {_LIBTEST_WORDS} (?:have )?fail)"
)
_PASSED_OF = re.compile(
    rf"\b(?:passed (?P<a>{_N}) (?:out )?of (?:the )?(?P<m>{_N}) {_LIBTEST_WORDS}"
    rf"|(?P<b>{_N})(?:/| (?:out )?of (?:the )?)(?P<n>{_N}) {_LIBTEST_WORDS}"
    rf" (?:have |are |now )?pass)"
)
_ALL = re.compile(
    rf"\ball (?P<count>{_N}) {_LIBTEST_WORDS} (?:have |are |now )?pass", re.IGNORECASE
)
_PLAIN = re.compile(
    rf"\b(?P<count>{_N}) (?:{_LIBTEST_WORDS} )?(?:have |has )?"
    r"(?P<word>passed|failed|passing|failing|errored)\b"
    # "after 2 failed attempts" is not a report.
    r"(?=[ ]{0,2}(?:[,.;:|)\n]|$|in\b|and\b|but\b))",
    re.IGNORECASE,
)
_PLAIN_AFTER = re.compile(
    rf"\b(?P<word>passed|failed)[:=] ?(?P<count>{_N})\b", re.IGNORECASE
)

_GOOD = frozenset({"passed", "passing", "pass", "xpassed"})
_BAD = frozenset({"failed", "failing", "fail", "error", "errors", "errored"})


def count_tests(text: str) -> Counts | None:
    """Return the counts of the last report in the text, or None if there is no report.

    Errors count as failures. The counts of several cargo crates are added up.
    """
    tail = text[-TAIL:]
    if not any(word in tail for word in _HINTS):
        return None
    return next((found for read in _READERS if (found := read(tail))), None)


def _pytest(text: str) -> Counts | None:
    reports = list(_PYTEST.finditer(text))
    return _sum(_PART.finditer(reports[-1]["body"])) if reports else None


def _unittest(text: str) -> Counts | None:
    runs = list(_UNITTEST.finditer(text))
    if not runs:
        return None
    end = _UNITTEST_END.search(text, runs[-1].end())
    if end is None:
        return None
    parts = _UNITTEST_PART.finditer(end["body"] or "")
    counts = {part["word"]: int(part["count"]) for part in parts}
    failed = counts.get("failures", 0) + counts.get("errors", 0)
    ran = int(runs[-1]["ran"]) - counts.get("skipped", 0)
    return _counts_or_none(max(ran - failed, 0), failed)


def _jest(text: str) -> Counts | None:
    reports = list(_JEST.finditer(text))
    return _sum(_PART.finditer(reports[-1]["body"])) if reports else None


def _mocha(text: str) -> Counts | None:
    reports = list(_MOCHA.finditer(text))
    if not reports:
        return None
    failing = _MOCHA_FAILING.search(text, reports[-1].end())
    return _counts_or_none(
        int(reports[-1]["passed"]), int(failing["failed"]) if failing else 0
    )


def _cargo(text: str) -> Counts | None:
    reports = list(_CARGO.finditer(text))
    passed = sum(int(report["passed"]) for report in reports)
    return _counts_or_none(passed, sum(int(report["failed"]) for report in reports))


def _go(text: str) -> Counts | None:
    for pattern in (_GO_TEST, _GO_PACKAGE):
        verdicts = [match["verdict"].upper() for match in pattern.finditer(text)]
        if verdicts:
            bad = verdicts.count("FAIL")
            return Counts(len(verdicts) - bad, bad)
    return None


def _maven(text: str) -> Counts | None:
    reports = list(_MAVEN.finditer(text))
    if not reports:
        return None
    failed = int(reports[-1]["failures"]) + int(reports[-1]["errors"])
    return _counts_or_none(max(int(reports[-1]["ran"]) - failed, 0), failed)


def _rspec(text: str) -> Counts | None:
    reports = list(_RSPEC.finditer(text))
    if not reports:
        return None
    failed = int(reports[-1]["failed"])
    return _counts_or_none(max(int(reports[-1]["ran"]) - failed, 0), failed)


def _phpunit(text: str) -> Counts | None:
    if found := _PHPUNIT.search(text):
        return _counts_or_none(int(found["ran"]), 0)
    if found := _PHPUNIT_FAILED.search(text):
        words = re.findall(rf"(?:Failures|Errors): ({_N})", found["body"])
        failed = sum(int(word) for word in words)
        return _counts_or_none(max(int(found["ran"]) - failed, 0), failed)
    return None


def _tap(text: str) -> Counts | None:
    return _sum(_TAP.finditer(text))


def _prose(text: str) -> Counts | None:
    if found := _FAILED_OF.search(text):
        failed, total = int(found["a"] or found["b"]), int(found["m"] or found["n"])
        return _counts_or_none(max(total - failed, 0), failed)
    if found := _PASSED_OF.search(text):
        passed, total = int(found["a"] or found["b"]), int(found["m"] or found["n"])
        return _counts_or_none(passed, max(total - passed, 0))
    if found := _ALL.search(text):
        return _counts_or_none(int(found["count"]), 0)
    return _sum([*_PLAIN.finditer(text), *_PLAIN_AFTER.finditer(text)])


def _sum(parts: Iterable[re.Match[str]]) -> Counts | None:
    passed = failed = 0
    for part in parts:
        word, count = part["word"].lower(), int(part["count"])
        passed += count if word in _GOOD else 0
        failed += count if word in _BAD else 0
    return _counts_or_none(passed, failed)


def _counts_or_none(passed: int, failed: int) -> Counts | None:
    return Counts(passed, failed) if passed + failed else None


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
_READERS: tuple[Callable[[str], Counts | None], ...] = (
    _pytest,
    _unittest,
    _jest,
    _cargo,
    _go,
    _maven,
    _mocha,
    _rspec,
    _phpunit,
    _tap,
    _prose,
)

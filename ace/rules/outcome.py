"""How a task ended, and which kind of evidence says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from ace.rules import checks, wording
from ace.rules.counts import Counts, test_counts
from ace.rules.task import Task, Value

__all__ = ["Counts", "Outcome", "Value", "resolve", "test_counts"]

Source = Literal["explicit", "tests", "tool_status", "expectation", "wording", "none"]

MAX_TEXT = 20_000
# A longer answer may hold the expected value and much else.
SHORT_ANSWER = 200


@dataclass(frozen=True)
class Outcome:
    value: Value
    source: Source
    confidence: float
    reason: str


# An environment's score: 1 is success, 0 failure, anything between partial.
_REWARD = re.compile(r"\b(?:reward|score)\b[ ]{0,2}[:=]?[ ]{0,2}(?P<value>[01](?:\.\d{1,6})?)\b(?![./%]\d)",
                     re.IGNORECASE)  # fmt: skip
_VALUE = (
    r"(?:'[^'\n]{0,160}'|\"[^\"\n]{0,160}\"|`[^`\n]{0,160}`|\[[^\]\n]{0,80}\]"
    r"|[^\s,;]{1,160})"
)
EXPECTED_AND_GOT = re.compile(
    r"\bexpected(?: (?:output|result|value|answer|status(?: code)?|code))?"
    rf"(?: to be| is| was)?:?[ ]{{1,3}}(?P<expected>{_VALUE})(?:[,.;]|\r?\n)?[ \t]{{0,8}}"
    r"(?:but )?(?:it )?(?:actual(?:ly)?|got|received|returned|was)"
    rf"(?: (?:output|result|value|answer|got))?:?[ ]{{1,3}}(?P<got>{_VALUE})",
    re.IGNORECASE,
)
_EXPECTED = re.compile(
    r"\bexpected (?:output|result|value|answer)(?: is)?[: ]{1,3}(?P<expected>[^\n]{1,120})",
    re.IGNORECASE,
)


def resolve(task: Task) -> Outcome:
    """Take the strongest level that says anything; two voices on it make unknown.

    The order is explicit outcome, test counts, tool statuses, the result against
    what was expected, wording (docs/ace.md, "Outcome"). An explicit "unknown" is
    kept: the caller knows that nobody knows.
    """
    for level in _LEVELS:
        found = level(task)
        if found is not None:
            return found
    return Outcome("unknown", "none", 0.0, "nothing says how the task ended")


def _explicit(task: Task) -> Outcome | None:
    if task.outcome:
        return Outcome(task.outcome, "explicit", 1.0, f"the caller says {task.outcome}")
    if task.feedback_source != "environment":
        return None
    values = [
        float(found["value"]) for found in _REWARD.finditer(task.feedback[:MAX_TEXT])
    ]
    told = [(_of_reward(value), f"reward {value:g}") for value in values]
    return _agreed(told, "explicit", 0.95)


def _of_reward(value: float) -> Value:
    if value >= 1:
        return "success"
    return "failure" if value <= 0 else "partial"


def _tests(task: Task) -> Outcome | None:
    reports = [report.counts for report in checks.last_reports(task)]
    said = test_counts(task.feedback[-MAX_TEXT:])
    told = [(_of_counts(count), _told(count)) for count in [*reports, said] if count]
    return _agreed(told, "tests", 0.9)


def _of_counts(count: Counts) -> Value:
    if not count.failed:
        return "success"
    return "partial" if count.passed else "failure"


def _told(count: Counts) -> str:
    return f"{count.passed} tests passed, {count.failed} failed"


def _tool_status(task: Task) -> Outcome | None:
    told: list[tuple[Value, str]] = []
    for call in checks.last_verdicts(task):
        value: Value = "failure" if call.failed else "success"
        verb = "failed" if call.failed else "passed"
        told.append((value, f"the last check, call {call.index}, {verb}"))
    if not told and (broken := checks.ends_broken(task)):
        told.append(("failure", f"the last call, {broken.index}, failed"))
    return _agreed(told, "tool_status", 0.7)


def _expectation(task: Task) -> Outcome | None:
    told: list[tuple[Value, str]] = []
    for text in (task.feedback, task.result):
        for found in EXPECTED_AND_GOT.finditer(text[:MAX_TEXT]):
            same = _bare(found["expected"]) == _bare(found["got"])
            value: Value = "success" if same else "failure"
            told.append((value, f"expected {found['expected'].strip()[:60]}"))
    return _agreed(told, "expectation", 0.6) or _answered(task)


def _answered(task: Task) -> Outcome | None:
    wanted = [_bare(m["expected"]) for m in _EXPECTED.finditer(task.goal[:MAX_TEXT])]
    answer = task.result.strip()
    if len(wanted) != 1 or not wanted[0] or not answer:
        return None
    pattern = rf"(?<!\w){re.escape(wanted[0])}(?!\w)"
    if re.search(pattern, answer[:MAX_TEXT].lower()):
        return Outcome("success", "expectation", 0.5, "the result holds what was asked")
    if len(answer) <= SHORT_ANSWER:
        return Outcome("failure", "expectation", 0.5, "the result is another value")
    return None


def _wording(task: Task) -> Outcome | None:
    """Read feedback only: what an answer claims of itself is no evidence.

    Of the airline runs whose answer says "successfully", 15 of 47 were successes.
    """
    told = [
        (value, f"the feedback says {word!r}")
        for value, word in wording.read(task.feedback)
    ]
    own_word = task.feedback_source == "agent"
    return _agreed(told, "wording", 0.35 if own_word else 0.5)


def _agreed(
    told: Iterable[tuple[Value, str]], source: Source, confidence: float
) -> Outcome | None:
    voices = list(told)
    values = {value for value, _ in voices}
    if not voices:
        return None
    if len(values) == 1:
        return Outcome(voices[0][0], source, confidence, voices[-1][1])
    reasons = " but ".join(dict.fromkeys(reason for _, reason in voices[-2:]))
    return Outcome("unknown", source, 0.0, f"conflict: {reasons}")


def _bare(text: str) -> str:
    return " ".join(text.lower().strip(" .,`'\"").split())


_LEVELS: tuple[Callable[[Task], Outcome | None], ...] = (
    _explicit,
    _tests,
    _tool_status,
    _expectation,
    _wording,
)

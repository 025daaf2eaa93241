"""Decide how a task ended, and name the kind of evidence that shows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ace.rules.outcome import agent_checks, verdict_words
from ace.rules.task import OutcomeValue, Task, ToolCall
from ace.rules.tool_calls.runner_reports import Counts, count_tests

OutcomeSource = Literal[
    "explicit", "tests", "tool_status", "expectation", "wording", "none"
]

MAX_TEXT = 20_000
# In characters. A longer answer may give the expected value in other words.
SHORT_ANSWER = 200
# Of what a check says by its test report, and by its status.
CONFIDENCE: Mapping[OutcomeSource, float] = {"tests": 0.9, "tool_status": 0.7}
# What the verdict of a check loses if an earlier one differs.
DISAGREEMENT = 0.2


@dataclass(frozen=True)
class TaskOutcome:
    value: OutcomeValue
    source: OutcomeSource
    confidence: float
    reason: str


@dataclass(frozen=True)
class _Verdict:
    """What one check says; `at` is the place of its call."""

    at: int
    value: OutcomeValue
    source: OutcomeSource
    reason: str


# The score of an environment: 1 is a success, 0 a failure, and any value between is partial.
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


def resolve(task: Task) -> TaskOutcome:
    """Return the outcome of the strongest level that has evidence.

    The levels are explicit outcome, checks, expected value and wording (docs/ace.md,
    "Outcome"). Of several checks, the last one counts. If the evidence of another level
    contradicts itself, the outcome is "unknown". An explicit outcome of "unknown" counts as
    evidence.
    """
    for level in _LEVELS:
        found = level(task)
        if found is not None:
            return found
    return TaskOutcome("unknown", "none", 0.0, "nothing says how the task ended")


def _explicit(task: Task) -> TaskOutcome | None:
    if task.outcome:
        return TaskOutcome(
            task.outcome, "explicit", 1.0, f"the caller says {task.outcome}"
        )
    if task.feedback_source != "environment":
        return None
    values = [
        float(found["value"]) for found in _REWARD.finditer(task.feedback[:MAX_TEXT])
    ]
    verdicts = [(_of_reward(value), f"reward {value:g}") for value in values]
    return _agree(verdicts, "explicit", 0.95)


def _of_reward(value: float) -> OutcomeValue:
    if value >= 1:
        return "success"
    return "failure" if value <= 0 else "partial"


def _checks(task: Task) -> TaskOutcome | None:
    """Return the verdict of the last check, by its test report or else by its status.

    Counts that the feedback names come after all calls.
    """
    reports = {each.call.index: each.counts for each in agent_checks.last_reports(task)}
    verdicts = [_report_verdict(at, counts) for at, counts in reports.items()]
    verdicts += [
        _status_verdict(call)
        for call in agent_checks.last_verdicts(task)
        if call.index not in reports
    ]
    verdicts.sort(key=lambda verdict: verdict.at)
    if said := count_tests(task.feedback[-MAX_TEXT:]):
        verdicts.append(_report_verdict(len(task.calls), said))
    if not verdicts and (broken := agent_checks.final_failure(task)):
        reason = f"the last call, {broken.index}, failed"
        verdicts.append(_Verdict(broken.index, "failure", "tool_status", reason))
    if not verdicts:
        return None
    last = verdicts[-1]
    confidence = CONFIDENCE[last.source]
    if any(earlier.value != last.value for earlier in verdicts):
        confidence -= DISAGREEMENT
    return TaskOutcome(last.value, last.source, round(confidence, 2), last.reason)


def _report_verdict(at: int, counts: Counts) -> _Verdict:
    return _Verdict(at, _of_counts(counts), "tests", _count_reason(counts))


def _status_verdict(call: ToolCall) -> _Verdict:
    value: OutcomeValue = "failure" if call.has_failed else "success"
    verb = "failed" if call.has_failed else "passed"
    reason = f"the last check, call {call.index}, {verb}"
    return _Verdict(call.index, value, "tool_status", reason)


def _of_counts(count: Counts) -> OutcomeValue:
    if not count.failed:
        return "success"
    return "partial" if count.passed else "failure"


def _count_reason(count: Counts) -> str:
    return f"{count.passed} tests passed, {count.failed} failed"


def _expectation(task: Task) -> TaskOutcome | None:
    verdicts: list[tuple[OutcomeValue, str]] = []
    for text in (task.feedback, task.result):
        for found in EXPECTED_AND_GOT.finditer(text[:MAX_TEXT]):
            same = _bare(found["expected"]) == _bare(found["got"])
            value: OutcomeValue = "success" if same else "failure"
            verdicts.append((value, f"expected {found['expected'].strip()[:60]}"))
    return _agree(verdicts, "expectation", 0.6) or _compare_answer(task)


def _compare_answer(task: Task) -> TaskOutcome | None:
    wanted = [_bare(m["expected"]) for m in _EXPECTED.finditer(task.goal[:MAX_TEXT])]
    answer = task.result.strip()
    if len(wanted) != 1 or not wanted[0] or not answer:
        return None
    pattern = rf"(?<!\w){re.escape(wanted[0])}(?!\w)"
    if re.search(pattern, answer[:MAX_TEXT].lower()):
        return TaskOutcome(
            "success", "expectation", 0.5, "the result holds what was asked"
        )
    if len(answer) <= SHORT_ANSWER:
        return TaskOutcome("failure", "expectation", 0.5, "the result is another value")
    return None


def _outcome_of_wording(task: Task) -> TaskOutcome | None:
    """Return the outcome that the words of the feedback name.

    The words of the answer are not evidence. 47 airline runs had an answer that said
    "successfully"; only 15 of those runs were successes.
    """
    verdicts = [
        (value, f"the feedback says {word!r}")
        for value, word in verdict_words.find(task.feedback)
    ]
    own_word = task.feedback_source == "agent"
    return _agree(verdicts, "wording", 0.35 if own_word else 0.5)


def _agree(
    verdicts: Iterable[tuple[OutcomeValue, str]],
    source: OutcomeSource,
    confidence: float,
) -> TaskOutcome | None:
    known = list(verdicts)
    values = {value for value, _ in known}
    if not known:
        return None
    if len(values) == 1:
        return TaskOutcome(known[0][0], source, confidence, known[-1][1])
    reasons = " but ".join(dict.fromkeys(reason for _, reason in known[-2:]))
    return TaskOutcome("unknown", source, 0.0, f"conflict: {reasons}")


def _bare(text: str) -> str:
    return " ".join(text.lower().strip(" .,`'\"").split())


_LEVELS: tuple[Callable[[Task], TaskOutcome | None], ...] = (
    _explicit,
    _checks,
    _expectation,
    _outcome_of_wording,
)

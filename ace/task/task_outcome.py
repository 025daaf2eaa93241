"""Decide how a task ended, and name the kind of evidence that shows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ace.task import shell, tool_calls, verdict_words
from ace.task.runner_reports import Counts, count_tests
from ace.task.task import OutcomeValue, Task, ToolCall

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
    reports = {each.call.index: each.counts for each in last_reports(task)}
    verdicts = [_report_verdict(at, counts) for at, counts in reports.items()]
    verdicts += [
        _status_verdict(call)
        for call in last_verdicts(task)
        if call.index not in reports
    ]
    verdicts.sort(key=lambda verdict: verdict.at)
    if said := count_tests(task.feedback[-MAX_TEXT:]):
        verdicts.append(_report_verdict(len(task.calls), said))
    if not verdicts and (broken := final_failure(task)):
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


@dataclass(frozen=True)
class CheckReport:
    call: ToolCall
    counts: Counts
    targets: frozenset[str]

    def covers(self, earlier: CheckReport) -> bool:
        """Return whether this run replaces an earlier run: it ran the same tests or all tests."""
        return not self.targets or earlier.targets <= self.targets


def last_reports(task: Task) -> list[CheckReport]:
    """Return the test reports that no later report covers, oldest first."""
    reports: list[CheckReport] = []
    for report in _reports(task):
        reports = [old for old in reports if not report.covers(old)]
        reports.append(report)
    return reports


def last_verdicts(task: Task) -> list[ToolCall]:
    """Return the last call of every check, without calls that have no verdict.

    A test, lint or build command is always a check. Any other command is a check only if
    the same command failed before. Success alone does not show that the work is right.
    """
    last: dict[str, ToolCall] = {}
    failed_before: set[str] = set()
    for call in _run_calls(task):
        key = _key(call)
        is_check = tool_calls.is_check(call.tool_name, call.arguments)
        if is_check or key in failed_before:
            last.pop(key, None)  # so that the verdicts are in the order of their calls
            last[key] = call
        if call.has_failed:
            failed_before.add(key)
    return [call for call in last.values() if call.has_failed is not None]


def final_failure(task: Task) -> ToolCall | None:
    """Return the last call that is not mere thinking, if that call failed."""
    acting = [call for call in task.calls if call.kind != "think"]
    return acting[-1] if acting and acting[-1].has_failed else None


def _reports(task: Task) -> Iterator[CheckReport]:
    for call in _run_calls(task):
        found = call.test_counts
        if found:
            yield CheckReport(call, found, shell.targets(_command_text(call)))


def _run_calls(task: Task) -> list[ToolCall]:
    return [call for call in task.calls if call.kind == "run"]


def _key(call: ToolCall) -> str:
    return f"{call.tool_name} {' '.join(_command_text(call).split())}"


def _command_text(call: ToolCall) -> str:
    """Return the command of a shell, or the argument values of another tool."""
    values = tool_calls.leaves(call.arguments).values()
    return call.command or " ".join(str(value) for value in values)

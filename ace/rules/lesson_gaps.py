"""Find the moments of a task from which the rules drew no lesson, though one is wanted.

The agent that did the task can say in its own words what such a moment teaches.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ace.repairs import failed_call
from ace.repairs.cures import TaskRepair
from ace.rules import causes, unresolved_errors
from ace.rules import evidence as spans
from ace.rules.evidence import MAX_QUOTE, Evidence
from ace.rules.feedback import advice
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.task import Task, ToolCall
from ace.rules.task_lesson import TaskLesson
from ace.rules.tool_calls import refusals
from ace.rules.unresolved_errors import UnresolvedError

# Of each goal, so many characters are quoted.
MAX_GOAL = 300
# A refused call with words of a person, as coding agents record it.
_USER_SAID = re.compile(r"\bthe user said:\s{0,4}(?P<words>\S[^\0]{0,580})")
# A text with fewer words says nothing that a lesson could rest on.
MIN_WORDS = 3


class GapKind(StrEnum):
    """What happened at the moment."""

    FAILED_CALL = "failed_call"
    REPAIR = "repair"
    REPEATED_ERROR = "repeated_error"
    CORRECTION = "correction"


@dataclass(frozen=True)
class LessonGap:
    """A moment that has no lesson. `signature` is equal for the same error of another task.

    `evidence` is all that a lesson about the moment may rest on.
    """

    kind: GapKind
    signature: str
    root_cause: str
    evidence: tuple[Evidence, ...]


def find(
    task: Task,
    outcome: TaskOutcome,
    evidence: Sequence[Evidence],
    lessons: Sequence[TaskLesson],
    errors: Iterable[UnresolvedError],
    repairs: Iterable[TaskRepair],
) -> Iterator[LessonGap]:
    """Yield the moments without a lesson: what people corrected, then errors in order.

    `errors` are those of which no lesson tells. How the harness, a compiler and a test
    refuse the code at hand teaches nothing about other tasks.
    """
    taught = {(span.field, span.start) for each in lessons for span in each.evidence}
    yield from _corrections(task, outcome, evidence, taught)
    cures = {
        each.failure.call.index: task.calls[each.fixed_index]
        for each in repairs
        if each.has_worked and each.cure
    }
    times = Counter(
        unresolved_errors.observation_signature(task, span)
        for span in spans.strongest_per_call(task, evidence)
    )
    for error in errors:
        call = task.call(error.span.field)
        if call and failed_call.classify(call) in failed_call.CURABLE:
            yield _of_error(error, call, cures, times[error.signature])


def _of_error(
    error: UnresolvedError, call: ToolCall, cures: Mapping[int, ToolCall], times: int
) -> LessonGap:
    cure = cures.get(call.index)
    kind = GapKind.REPEATED_ERROR if times > 1 else GapKind.FAILED_CALL
    quotes = [error.span, *_of_call("failed_call", call)]
    if cure:
        kind = GapKind.REPAIR
        quotes += _of_call("fixed_call", cure)
    return LessonGap(kind, error.signature, error.root_cause, tuple(quotes))


def _of_call(kind: str, call: ToolCall) -> Iterator[Evidence]:
    name, text = call.tool_name, call.arguments_text[:MAX_QUOTE]
    yield spans.make("tool_name", call.name_field, 0, len(name), name)
    if call.arguments:
        yield spans.make(kind, call.arguments_field, 0, len(text), text)


def _corrections(
    task: Task,
    outcome: TaskOutcome,
    evidence: Iterable[Evidence],
    taught: set[tuple[str, int]],
) -> Iterator[LessonGap]:
    """Yield the words of people about this task that became no lesson."""
    for call in task.calls:
        said = _USER_SAID.search(call.result)
        if said and refusals.is_refusal(call.result):
            start, end = said.span("words")
            yield from _of_words(task, call.result_field, start, end, call=call)
    if task.feedback_source != "human":
        return
    untaught = [
        span
        for span in evidence
        if span.kind in advice.KINDS and (span.field, span.start) not in taught
    ]
    for span in untaught:
        yield from _of_words(task, span.field, span.start, span.end)
    is_taught = any(field == "feedback" for field, _ in taught)
    if outcome.value in ("failure", "partial") and not (untaught or is_taught):
        start = len(task.feedback) - len(task.feedback.lstrip())
        end = min(len(task.feedback), start + MAX_QUOTE)
        yield from _of_words(task, "feedback", start, end)


def _of_words(
    task: Task, field: str, start: int, end: int, call: ToolCall | None = None
) -> Iterator[LessonGap]:
    words = task.text(field)[start:end].rstrip()
    if len(words.split()) < MIN_WORDS:
        return
    said = spans.make("correction", field, start, start + len(words), words)
    goal = task.goal[:MAX_GOAL]
    asked = spans.make("goal", "goal", 0, len(goal), goal)
    of_call = _of_call("refused_call", call) if call else ()
    signature = hashlib.sha256(said.signature.encode(errors="surrogatepass"))
    yield LessonGap(
        GapKind.CORRECTION,
        signature.hexdigest(),
        causes.root_cause((said,)),
        (said, *of_call, asked),
    )

"""Lessons from the sentences of feedback that say how work should be done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ace.rules import causes, error_signature
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.feedback import advice
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson, is_sound


def draw(
    task: Task,
    outcome: TaskOutcome,
    evidence: Sequence[Evidence],
    rows: tuple[causes.CauseRow, ...],
) -> Iterator[TaskLesson]:
    """Yield a lesson for each piece of advice that is worth keeping."""
    for found in advice.find(task, outcome.value):
        span = _of_sentence(found.start, found.end, evidence)
        if span is None:
            continue
        quotes = (span, *_of_goal(task, found))
        if is_sound(found.content, [spans.quote(task, item) for item in quotes]):
            yield TaskLesson(
                condition=found.condition,
                action=found.action,
                content=found.content,
                category=found.category,
                root_cause=_cause_of(found, span, rows),
                evidence=quotes,
                signature=error_signature.build("advice", "", None, found.content),
                confidence=found.confidence,
            )


def _cause_of(
    found: advice.Advice, span: Evidence, rows: tuple[causes.CauseRow, ...]
) -> str:
    """Return the cause that the words of the advice name, or else the default of the advice."""
    cause = causes.root_cause((span,), rows)
    return found.cause if cause in ("PREFERENCE", causes.UNKNOWN) else cause


def _of_sentence(start: int, end: int, evidence: Sequence[Evidence]) -> Evidence | None:
    place = ("feedback", start, end)
    kinds = advice.KINDS
    return next(
        (
            span
            for span in evidence
            if (span.field, span.start, span.end) == place and span.kind in kinds
        ),
        None,
    )


def _of_goal(task: Task, found: advice.Advice) -> Iterator[Evidence]:
    if found.goal_span:
        start, end = found.goal_span
        yield spans.make("goal", "goal", start, end, task.goal[start:end])

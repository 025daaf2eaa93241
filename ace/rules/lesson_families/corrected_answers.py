"""Lessons from feedback that gives the right answer to a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ace.rules import causes, corrections, error_signature
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson, is_sound

CONFIDENCE = 0.8


def draw(
    task: Task,
    outcome: TaskOutcome,
    evidence: Sequence[Evidence],
    rows: tuple[causes.CauseRow, ...],
) -> Iterator[TaskLesson]:
    """Yield a lesson with the right answer to the question, if the feedback has that answer."""
    found = corrections.find(task) if outcome.value in ("failure", "partial") else None
    if found is None:
        return
    if is_sound(found.content, [spans.quote(task, span) for span in found.evidence]):
        yield TaskLesson(
            condition=found.condition,
            action=found.action,
            content=found.content,
            category="gotchas",
            root_cause="VALUE_MISMATCH",
            evidence=found.evidence,
            signature=error_signature.build("correction", "", None, found.content),
            confidence=CONFIDENCE,
        )

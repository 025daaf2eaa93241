"""Lessons from calls that failed and the calls that cured them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ace.lessons import fixes
from ace.repairs import supply
from ace.rules import causes, error_signature
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson, category_of


def draw(
    task: Task,
    outcome: TaskOutcome,
    evidence: Sequence[Evidence],
    rows: tuple[causes.CauseRow, ...],
) -> Iterator[TaskLesson]:
    """Yield a lesson for each failure that another call cured."""
    for lesson in fixes.find(task):
        quotes = tuple(
            spans.make(kind, quote.field, quote.start, quote.end, quote.quote)
            for kind, quote in zip(
                ("error", "failed_call", "fixed_call", "source"),
                lesson.quotes,
                strict=False,
            )
        )
        cause = causes.root_cause(quotes[:1], rows)
        failed, fixed = (task.call(quote.field) for quote in quotes[1:3])
        assert failed and fixed
        yield TaskLesson(
            condition="",
            action=lesson.content.partition(",")[0],
            content=lesson.content,
            category=category_of(cause),
            root_cause="TOOL_ARGS" if cause == causes.UNKNOWN else cause,
            evidence=quotes,
            signature=error_signature.build("fix", "", None, lesson.content),
            confidence=lesson.confidence,
            repair_key=lesson.content,
            supply=supply.of_calls(failed, fixed),
            applies_to=lesson.applies_to,
        )

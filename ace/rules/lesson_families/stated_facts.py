"""Lessons from plain statements of fact, by people and in accepted results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ace.rules import causes, error_signature
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.feedback import statements
from ace.rules.feedback.statements import FactStatement
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson, is_sound

# A person states it to the agent; the agent states it in a result that was accepted.
OF_PERSON, OF_RESULT = 0.5, 0.4


def draw(
    task: Task,
    outcome: TaskOutcome,
    evidence: Sequence[Evidence],
    rows: tuple[causes.CauseRow, ...],
) -> Iterator[TaskLesson]:
    """Yield a lesson for each fact that no advice of the same sentence already states."""
    advised = {(span.field, span.start) for span in evidence}
    for field, fact, confidence in _facts(task, outcome):
        if (field, fact.start) in advised:
            continue
        quote = task.text(field)[fact.start : fact.end]
        if is_sound(fact.content, [quote]):
            yield TaskLesson(
                condition="",
                action=fact.content.rstrip("."),
                content=fact.content,
                category="general",
                root_cause="PREFERENCE",
                evidence=(spans.make("fact", field, fact.start, fact.end, quote),),
                signature=error_signature.build("fact", "", None, fact.content),
                confidence=confidence,
            )


def _facts(
    task: Task, outcome: TaskOutcome
) -> Iterator[tuple[str, FactStatement, float]]:
    """Yield (field, fact, confidence). What the agent says of its own work is no fact."""
    for fact in statements.find(task.goal, of_team=True):
        yield "goal", fact, OF_PERSON
    if task.feedback_source != "agent":
        for of_team in (True, False):
            for fact in statements.find(task.feedback, of_team=of_team):
                yield "feedback", fact, OF_PERSON
        if outcome.value == "success" and all(c.is_of_domain for c in task.calls):
            for fact in statements.find(task.result, of_team=False):
                yield "result", fact, OF_RESULT

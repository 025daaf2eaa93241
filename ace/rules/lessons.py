"""Draw lessons from a task. A lesson is a sentence in the words of the task, with evidence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ace.rules import causes, insights
from ace.rules.evidence import Evidence
from ace.rules.insights import Insight, InsightType
from ace.rules.lesson_families import (
    advice_given,
    confirmed_answers,
    corrected_answers,
    known_fixes,
    project_checks,
    stated_facts,
)
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.task import Task
from ace.rules.task_lesson import Category, TaskLesson

Rows = tuple[causes.CauseRow, ...]
Family = Callable[[Task, TaskOutcome, Sequence[Evidence], Rows], Iterator[TaskLesson]]

# The name of a family is what `benchmark lessons --without` takes.
FAMILIES: Mapping[str, Family] = {
    "answers": corrected_answers.draw,
    "confirmed": confirmed_answers.draw,
    "fixes": known_fixes.draw,
    "checks": project_checks.draw,
    "advice": advice_given.draw,
    "facts": stated_facts.draw,
}

_INSIGHT_TYPES: dict[Category, InsightType] = {
    "gotchas": "gotcha",
    "dependencies": "gotcha",
    "patterns": "pattern",
    "architecture": "pattern",
    "best_practices": "best_practice",
}


@dataclass(frozen=True)
class LessonsAndInsights:
    """What the rules draw from a task. `abstention` says why there is no lesson."""

    lessons: list[TaskLesson]
    insights: list[Insight]
    abstention: str | None


def draw(
    task: Task,
    outcome: TaskOutcome,
    evidence: Sequence[Evidence],
    extra_rows: Iterable[causes.CauseRow] = (),
    *,
    without: Collection[str] = (),
) -> LessonsAndInsights:
    """Draw lessons and insights from a task.

    What is learned on an unknown outcome waits for a person: the gate `outcome` holds it.
    `extra_rows` are the project's own root causes. The families in `without` are left out.
    """
    rows = tuple(extra_rows)
    drawn: dict[str, TaskLesson] = {}
    for name, family in FAMILIES.items():
        if name not in without:
            drawn |= {
                lesson.signature: lesson
                for lesson in family(task, outcome, evidence, rows)
            }
    lessons = list(drawn.values())
    known = [to_insight(lesson) for lesson in lessons]
    found = insights.collect(task, evidence, known)
    return LessonsAndInsights(lessons, found, _abstention(lessons))


def to_insight(lesson: TaskLesson) -> Insight:
    kind = _INSIGHT_TYPES.get(lesson.category, "observation")
    return Insight(kind, lesson.content, lesson.confidence, lesson.evidence)


def _abstention(lessons: list[TaskLesson]) -> str | None:
    return None if lessons else "nothing in the task names an action to take"

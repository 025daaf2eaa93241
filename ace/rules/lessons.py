"""What a task teaches: extractive sentences, each standing on its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ace.rules import (
    advice,
    causes,
    corrections,
    grounding,
    insights,
    masks,
    remedies,
    repairs,
    tellings,
)
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.insights import Insight, InsightType
from ace.rules.outcome import Outcome
from ace.rules.repairs import Remedy, Repair
from ace.rules.task import Task, ToolCall

__all__ = ["Insight", "Lesson", "Reflected", "draw", "is_sound"]

Category = Literal[
    "dependencies", "architecture", "gotchas", "patterns", "best_practices", "general"
]

# One sentence a reader takes in at once (docs/ace.md, "Lessons").
MAX_WORDS = 60
CORRECTION_CONFIDENCE = 0.8
# How sure a call-level lesson is when the task around it ended like this.
REPAIR_CONFIDENCE = {"success": 0.8, "partial": 0.7, "failure": 0.6}

_INSIGHT_TYPES: dict[Category, InsightType] = {
    "gotchas": "gotcha",
    "dependencies": "gotcha",
    "patterns": "pattern",
    "architecture": "pattern",
    "best_practices": "best_practice",
}
_CATEGORIES: dict[str, Category] = {
    "DEPENDENCY": "dependencies",
    "ENV_SETUP": "dependencies",
}


@dataclass(frozen=True)
class Lesson:
    """`content` is the whole sentence; `condition` and `action` are its parts.

    `reason` says what else it rests on, where the quotes do not show it.
    """

    condition: str
    action: str
    content: str
    category: Category
    root_cause: str
    evidence: tuple[Evidence, ...]
    signature: str
    confidence: float
    reason: str = ""


@dataclass(frozen=True)
class Reflected:
    """`abstained` says why there is no lesson, when there is none."""

    lessons: list[Lesson]
    insights: list[Insight]
    abstained: str | None


def draw(
    task: Task,
    outcome: Outcome,
    evidence: Sequence[Evidence],
    extra_rows: Iterable[causes.Row] = (),
) -> Reflected:
    """Draw lessons from a task whose outcome is known; else only observe.

    An unknown outcome gives no lesson: learning from it does worse than not
    learning. `extra_rows` are a project's own root causes.
    """
    rows = tuple(extra_rows)
    lessons: list[Lesson] = []
    if outcome.value != "unknown":
        lessons = [
            *_of_correction(task, outcome),
            *_of_repairs(task, outcome, evidence, rows),
            *_of_advice(task, outcome, evidence, rows),
        ]
    lessons = list({lesson.signature: lesson for lesson in lessons}.values())
    seen = insights.of(task, evidence, [taught(lesson) for lesson in lessons])
    return Reflected(lessons, seen, _abstained(outcome, lessons))


def category(cause: str) -> Category:
    return _CATEGORIES.get(cause, "gotchas")


def taught(lesson: Lesson) -> Insight:
    kind = _INSIGHT_TYPES.get(lesson.category, "observation")
    return Insight(kind, lesson.content, lesson.confidence, lesson.evidence)


def _abstained(outcome: Outcome, lessons: list[Lesson]) -> str | None:
    if outcome.value == "unknown":
        return f"the outcome is unknown: {outcome.reason}"
    return None if lessons else "nothing in the task names an action to take"


def _of_correction(task: Task, outcome: Outcome) -> Iterator[Lesson]:
    """Another answer to the same question, as the feedback tells it."""
    found = corrections.find(task) if outcome.value in ("failure", "partial") else None
    if found is None:
        return
    if is_sound(found.content, [spans.quote(task, span) for span in found.evidence]):
        yield Lesson(
            condition=found.condition,
            action=found.action,
            content=found.content,
            category="gotchas",
            root_cause="VALUE_MISMATCH",
            evidence=found.evidence,
            signature=masks.signature("correction", "", None, found.content),
            confidence=CORRECTION_CONFIDENCE,
        )


def _of_repairs(
    task: Task,
    outcome: Outcome,
    evidence: Sequence[Evidence],
    rows: tuple[causes.Row, ...],
) -> Iterator[Lesson]:
    for repair in repairs.find(task):
        remedy = remedies.remedy(task, repair)
        error = spans.telling(repair.failed, evidence)
        if remedy and error:
            lesson = _repaired(task, outcome, repair, remedy, error, rows)
            if lesson:
                yield lesson


def _repaired(
    task: Task,
    outcome: Outcome,
    repair: Repair,
    remedy: Remedy,
    error: Evidence,
    rows: tuple[causes.Row, ...],
) -> Lesson | None:
    name = repairs.label(repair.failed)
    condition = f"calling `{name}`"
    told = tellings.clause(spans.quote(task, error), error)
    instead = f" instead of {remedy.observed}" if remedy.observed else ""
    content = f"When {condition}, {remedy.action}{instead}: {told}."
    held = tuple(_held(task, repair, remedy, error))
    if not is_sound(content, [spans.quote(task, span) for span in held]):
        return None
    cause = causes.root_cause((error,), rows)
    return Lesson(
        condition=condition,
        action=remedy.action,
        content=content,
        category=category(cause),
        root_cause="TOOL_ARGS" if cause == causes.UNKNOWN else cause,
        evidence=held,
        signature=masks.signature("repair", name, None, f"{remedy.action} {told}"),
        confidence=REPAIR_CONFIDENCE.get(outcome.value, 0.6),
    )


def _held(
    task: Task, repair: Repair, remedy: Remedy, error: Evidence
) -> Iterator[Evidence]:
    """The quotes of a repair: the error, both calls, their names, the source."""
    yield error
    for kind, call in (("failed_call", repair.failed), ("fixed_call", repair.fixed)):
        start, end = repairs.span(call, repair)
        text = call.arguments_text[start:end]
        yield spans.spanned(kind, call.arguments_field, start, end, text, repair.key)
    for change in repair.changes:
        if repair.change and change.path != repair.change.path:
            yield from _beside(repair, change.key)
    yield _named(repair.failed)
    if remedy.source:
        yield _named(remedy.source)
        yield from _known_by(remedy.source, remedy.needle)


def _beside(repair: Repair, key: str) -> Iterator[Evidence]:
    """The other half of a renamed argument stands in the failed call only."""
    for call in (repair.failed, repair.fixed):
        start = call.arguments_text.find(f'"{key}"')
        if start >= 0:
            end = start + len(key) + 2
            yield spans.spanned("argument_name", call.arguments_field, start, end, key)


def _named(call: ToolCall) -> Evidence:
    end = len(call.tool_name)
    return spans.spanned("tool_name", call.name_field, 0, end, call.tool_name)


def _known_by(call: ToolCall, needle: str) -> Iterator[Evidence]:
    start = call.result.find(needle) if needle else -1
    if start >= 0:
        end = start + len(needle)
        yield spans.spanned("source", call.result_field, start, end, needle)
    if call.arguments:
        end = min(len(call.arguments_text), spans.MAX_QUOTE)
        text = call.arguments_text[:end]
        yield spans.spanned("source_call", call.arguments_field, 0, end, text)


def _of_advice(
    task: Task,
    outcome: Outcome,
    evidence: Sequence[Evidence],
    rows: tuple[causes.Row, ...],
) -> Iterator[Lesson]:
    for found in advice.find(task, outcome.value):
        span = _of_sentence(found.start, found.end, evidence)
        if span is None:
            continue
        held = (span, *_of_goal(task, found))
        if is_sound(found.content, [spans.quote(task, item) for item in held]):
            yield Lesson(
                condition=found.condition,
                action=found.action,
                content=found.content,
                category=found.category,
                root_cause=_cause_of(found, span, rows),
                evidence=held,
                signature=masks.signature("advice", "", None, found.content),
                confidence=found.confidence,
            )


def _cause_of(
    found: advice.Advice, span: Evidence, rows: tuple[causes.Row, ...]
) -> str:
    """A wish shows a preference unless its words name more."""
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
        yield spans.spanned("goal", "goal", start, end, task.goal[start:end])


def is_sound(content: str, quotes: Sequence[str]) -> bool:
    """One sentence of at most MAX_WORDS, every literal of it in the quotes."""
    words = content.split()
    if not 3 <= len(words) <= MAX_WORDS or "\n" in content:
        return False
    return grounding.is_grounded(content, quotes)

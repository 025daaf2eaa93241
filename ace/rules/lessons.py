"""Draw lessons from a task. A lesson is a sentence in the words of the task, with evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ace.rules import (
    causes,
    corrections,
    error_signature,
    error_summary,
    groundedness,
    insights,
)
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.feedback import advice
from ace.rules.insights import Insight, InsightType
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.repairs import call_repairs, remedies, supply
from ace.rules.repairs.call_repairs import Remedy, Repair
from ace.rules.task import Task, ToolCall

Category = Literal[
    "dependencies", "architecture", "gotchas", "patterns", "best_practices", "general"
]

# A longer sentence cannot be understood in one reading (docs/ace.md, "Lessons").
MAX_WORDS = 60
CORRECTION_CONFIDENCE = 0.8
# The confidence of a repair lesson, by the outcome of the task.
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
class TaskLesson:
    """A lesson: `content` is the whole sentence, `condition` and `action` are its parts.

    `reason` says why the lesson was drawn, if the quotes do not show why. `repair_key` is
    equal for two lessons about the same repair. `supply` says which other package or host
    the lesson leads to; a person must see such a lesson.
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
    repair_key: str = ""
    supply: str = ""


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
) -> LessonsAndInsights:
    """Draw lessons and insights from a task. If the outcome is unknown, draw only insights.

    A lesson from a task with an unknown outcome does more harm than good. `extra_rows` are
    the project's own root causes.
    """
    rows = tuple(extra_rows)
    lessons: list[TaskLesson] = []
    if outcome.value != "unknown":
        lessons = [
            *_of_correction(task, outcome),
            *_of_repairs(task, outcome, evidence, rows),
            *_of_advice(task, outcome, evidence, rows),
        ]
    lessons = list({lesson.signature: lesson for lesson in lessons}.values())
    known = [to_insight(lesson) for lesson in lessons]
    found = insights.collect(task, evidence, known)
    return LessonsAndInsights(lessons, found, _abstention(outcome, lessons))


def category(cause: str) -> Category:
    return _CATEGORIES.get(cause, "gotchas")


def to_insight(lesson: TaskLesson) -> Insight:
    kind = _INSIGHT_TYPES.get(lesson.category, "observation")
    return Insight(kind, lesson.content, lesson.confidence, lesson.evidence)


def _abstention(outcome: TaskOutcome, lessons: list[TaskLesson]) -> str | None:
    if outcome.value == "unknown":
        return f"the outcome is unknown: {outcome.reason}"
    return None if lessons else "nothing in the task names an action to take"


def _of_correction(task: Task, outcome: TaskOutcome) -> Iterator[TaskLesson]:
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
            confidence=CORRECTION_CONFIDENCE,
        )


def _of_repairs(
    task: Task,
    outcome: TaskOutcome,
    evidence: Sequence[Evidence],
    rows: tuple[causes.CauseRow, ...],
) -> Iterator[TaskLesson]:
    for repair in call_repairs.find(task):
        remedy = remedies.find(task, repair)
        error = spans.strongest(repair.failed_call, evidence)
        if remedy and error:
            lesson = _repair_lesson(task, outcome, repair, remedy, error, rows)
            if lesson:
                yield lesson


def _repair_lesson(
    task: Task,
    outcome: TaskOutcome,
    repair: Repair,
    remedy: Remedy,
    error: Evidence,
    rows: tuple[causes.CauseRow, ...],
) -> TaskLesson | None:
    name = call_repairs.tool_label(repair.failed_call)
    condition = f"calling `{name}`"
    summary = error_summary.summarise(spans.quote(task, error), error)
    instead = f" instead of {remedy.instead_of}" if remedy.instead_of else ""
    content = f"When {condition}, {remedy.action}{instead}: {summary}."
    quotes = tuple(_repair_quotes(task, repair, remedy, error))
    if not is_sound(content, [spans.quote(task, span) for span in quotes]):
        return None
    cause = causes.root_cause((error,), rows)
    return TaskLesson(
        condition=condition,
        action=remedy.action,
        content=content,
        category=category(cause),
        root_cause="TOOL_ARGS" if cause == causes.UNKNOWN else cause,
        evidence=quotes,
        signature=error_signature.build(
            "repair", name, None, f"{remedy.action} {summary}"
        ),
        confidence=REPAIR_CONFIDENCE.get(outcome.value, 0.6),
        repair_key=_repair_key(name, remedy, summary),
        supply=supply.of_repair(repair),
    )


def _repair_key(tool: str, remedy: Remedy, summary: str) -> str:
    """Return a key that the same repair has in every run.

    Agents are given the text of one run, and so another run must show its words: only
    numbers, ids and times of the error may differ. A folder may not, because its name can be a
    sentence.
    """
    rest = (error_signature.mask_numbers(text) for text in (remedy.instead_of, summary))
    whole = "\n".join([tool, remedy.action, *rest])
    return hashlib.sha256(whole.encode(errors="surrogatepass")).hexdigest()


def _repair_quotes(
    task: Task, repair: Repair, remedy: Remedy, error: Evidence
) -> Iterator[Evidence]:
    """Yield the quotes of a repair: the error, both calls, the names in them and the source.

    The source is an earlier call that the remedy needs (`Remedy.source`).
    """
    yield error
    for kind, call in (
        ("failed_call", repair.failed_call),
        ("fixed_call", repair.fixed_call),
    ):
        start, end = call_repairs.span(call, repair)
        text = call.arguments_text[start:end]
        yield spans.make(kind, call.arguments_field, start, end, text, repair.key)
    for change in repair.changes:
        if repair.change and change.path != repair.change.path:
            yield from _name_of_argument(repair, change.key)
    yield _name_of_tool(repair.failed_call)
    if remedy.source:
        yield _name_of_tool(remedy.source)
        yield from _source_quotes(remedy.source, remedy.value)


def _name_of_argument(repair: Repair, key: str) -> Iterator[Evidence]:
    """Yield the name of an argument from each call that has it.

    If the repair renamed an argument, only one of the calls has the name.
    """
    for call in (repair.failed_call, repair.fixed_call):
        start = call.arguments_text.find(f'"{key}"')
        if start >= 0:
            end = start + len(key) + 2
            yield spans.make("argument_name", call.arguments_field, start, end, key)


def _name_of_tool(call: ToolCall) -> Evidence:
    end = len(call.tool_name)
    return spans.make("tool_name", call.name_field, 0, end, call.tool_name)


def _source_quotes(call: ToolCall, value: str) -> Iterator[Evidence]:
    start = call.result.find(value) if value else -1
    if start >= 0:
        end = start + len(value)
        yield spans.make("source", call.result_field, start, end, value)
    if call.arguments:
        end = min(len(call.arguments_text), spans.MAX_QUOTE)
        text = call.arguments_text[:end]
        yield spans.make("source_call", call.arguments_field, 0, end, text)


def _of_advice(
    task: Task,
    outcome: TaskOutcome,
    evidence: Sequence[Evidence],
    rows: tuple[causes.CauseRow, ...],
) -> Iterator[TaskLesson]:
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


def is_sound(content: str, quotes: Sequence[str]) -> bool:
    """Return whether the content is short, on one line, and has all its literals in the quotes."""
    words = content.split()
    if not 3 <= len(words) <= MAX_WORDS or "\n" in content:
        return False
    return groundedness.is_grounded(content, quotes)

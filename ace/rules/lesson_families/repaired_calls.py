"""Lessons from failed calls of a tool, and the calls that then worked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from ace.rules import causes, error_signature, error_summary
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.repairs import call_repairs, remedies, supply
from ace.rules.repairs.call_repairs import Remedy, Repair
from ace.rules.task import Task, ToolCall
from ace.rules.task_lesson import TaskLesson, category_of, is_sound

# By the outcome of the task. The repair itself is true whatever the outcome.
CONFIDENCE = {"success": 0.8, "partial": 0.7, "failure": 0.6, "unknown": 0.5}


def draw(
    task: Task,
    outcome: TaskOutcome,
    evidence: Sequence[Evidence],
    rows: tuple[causes.CauseRow, ...],
) -> Iterator[TaskLesson]:
    """Yield a lesson for each repaired call whose change helps in other tasks too."""
    for repair in call_repairs.find(task):
        remedy = remedies.find(task, repair)
        error = spans.strongest(repair.failed_call, evidence)
        if remedy and error:
            lesson = _lesson(task, outcome, repair, remedy, error, rows)
            if lesson:
                yield lesson


def _lesson(
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
        category=category_of(cause),
        root_cause="TOOL_ARGS" if cause == causes.UNKNOWN else cause,
        evidence=quotes,
        signature=error_signature.build(
            "repair", name, None, f"{remedy.action} {summary}"
        ),
        confidence=CONFIDENCE[outcome.value],
        repair_key=repair_key(name, remedy, summary),
        supply=supply.of_repair(repair),
    )


def repair_key(tool: str, remedy: Remedy, summary: str) -> str:
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

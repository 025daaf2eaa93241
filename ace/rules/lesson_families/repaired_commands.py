"""Lessons from shell commands that their program refused, and the commands that worked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ace.rules import causes, error_signature, error_summary
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.lesson_families import repaired_calls
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.repairs import shell_repairs, supply
from ace.rules.repairs.call_repairs import Remedy
from ace.rules.repairs.shell_repairs import ShellRepair
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson, category_of, is_sound
from common.text import literals


def draw(
    task: Task,
    outcome: TaskOutcome,
    evidence: Sequence[Evidence],
    rows: tuple[causes.CauseRow, ...],
) -> Iterator[TaskLesson]:
    """Yield a lesson for each refused command that another form of it replaced."""
    for repair in shell_repairs.find(task):
        if lesson := _lesson(task, outcome, repair, rows):
            yield lesson


def _lesson(
    task: Task,
    outcome: TaskOutcome,
    repair: ShellRepair,
    rows: tuple[causes.CauseRow, ...],
) -> TaskLesson | None:
    error = _complaint(repair)
    summary = error_summary.summarise(spans.quote(task, error), error)
    condition = f"running `{repair.program}`"
    content = f"When {condition}, {repair.action}: {summary}."
    quotes = (error, *_calls(repair, content))
    if not is_sound(content, [spans.quote(task, span) for span in quotes]):
        return None
    cause = causes.root_cause((error,), rows)
    return TaskLesson(
        condition=condition,
        action=repair.action,
        content=content,
        category=category_of(cause),
        root_cause=cause,
        evidence=quotes,
        signature=error_signature.build("command", repair.program, None, content),
        confidence=repaired_calls.CONFIDENCE[outcome.value],
        repair_key=repaired_calls.repair_key(
            repair.program, Remedy(repair.action, ""), summary
        ),
        supply=supply.of_calls(repair.failed_call, repair.fixed_call),
    )


def _complaint(repair: ShellRepair) -> Evidence:
    call = repair.failed_call
    start, end = repair.complaint
    message = call.result[start:end]
    signature = error_signature.build("argument", "argument", None, message)
    return Evidence(
        "argument", None, "argument", message, call.result_field, start, end, signature
    )


def _calls(repair: ShellRepair, content: str) -> Iterator[Evidence]:
    """Yield both commands from their start, and the words of the lesson behind that part."""
    words = [repair.program, *literals.find_literals(content)]
    for kind, call in (
        ("failed_call", repair.failed_call),
        ("fixed_call", repair.fixed_call),
    ):
        text = call.arguments_text
        end = min(len(text), spans.MAX_QUOTE)
        yield spans.make(kind, call.arguments_field, 0, end, text[:end])
        for start, stop in shell_repairs.spans_of(call, words):
            if stop > end:
                word = text[start:stop]
                yield spans.make("word", call.arguments_field, start, stop, word)

"""Lessons from the checks of a project that failed on a change until it was right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ace.rules import causes, error_signature
from ace.rules import evidence as spans
from ace.rules.evidence import Evidence
from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.task import Task, ToolCall
from ace.rules.task_lesson import TaskLesson, is_sound
from ace.rules.tool_calls import command_purpose

CONFIDENCE = 0.7
# What a runner prints before it runs the command of a task: "[lint] $ ruff check", "> vitest".
_INNER = re.compile(
    r"^(?:\[[^\]\n]{1,40}\] )?[$>] (?P<command>[a-z][^\n$`\u2026]{3,60})$", re.MULTILINE
)
_COMMAND = re.compile(r"\S[^\n]*\S")


def draw(
    task: Task,
    outcome: TaskOutcome,
    evidence: Sequence[Evidence],
    rows: tuple[causes.CauseRow, ...],
) -> Iterator[TaskLesson]:
    """Yield a lesson for each check that failed, and passed after files were changed."""
    failed: dict[str, ToolCall] = {}
    changed_at = -1
    for call in task.calls:
        if call.kind in ("create", "modify", "delete", "move") and not call.has_failed:
            changed_at = call.index
        check = command_purpose.project_check(call.command) if call.command else ""
        if not check:
            continue
        if call.has_failed:
            failed.setdefault(check, call)
        elif check in failed and changed_at > failed[check].index:
            yield from filter(None, [_lesson(task, check, failed.pop(check), call)])


def _lesson(
    task: Task, check: str, failed: ToolCall, passed: ToolCall
) -> TaskLesson | None:
    inner = _inner_command(failed, check) or _inner_command(passed, check)
    which = f" (it runs `{inner[0]}`)" if inner else ""
    action = f"run `{check}`"
    content = (
        f"Before finishing a change, {action}{which}: "
        "it has found errors that had to be fixed."
    )
    quotes = tuple(_quotes(check, failed, passed))
    if not is_sound(content, [spans.quote(task, span) for span in quotes]):
        return None
    return TaskLesson(
        condition="before finishing a change",
        action=action,
        content=content,
        category="best_practices",
        root_cause="NO_VERIFICATION",
        evidence=quotes,
        signature=error_signature.build("check", "", None, check),
        confidence=CONFIDENCE,
    )


def _inner_command(call: ToolCall, check: str) -> re.Match[str] | None:
    """Return what the runner runs for the check, unless the call passed it arguments."""
    found = _INNER.search(call.result[:2_000])
    if found is None or f"{check} -" in " ".join(call.command.split()):
        return None
    return _COMMAND.search(call.result, found.start("command"), found.end("command"))


def _quotes(check: str, failed: ToolCall, passed: ToolCall) -> Iterator[Evidence]:
    for kind, call in (("failed_call", failed), ("fixed_call", passed)):
        start = call.arguments_text.find(check)
        if start >= 0:
            end = start + len(check)
            yield spans.make(kind, call.arguments_field, start, end, check)
        if inner := _inner_command(call, check):
            start, end = inner.span()
            yield spans.make("inner_command", call.result_field, start, end, inner[0])
    end = min(len(failed.result), spans.MAX_QUOTE)
    text = failed.result[:end]
    yield spans.make("check_failed", failed.result_field, 0, end, text)

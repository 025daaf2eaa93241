"""Write the calls of an agent as lines of the record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ace import errors as task_errors
from ace.lessons.record_line import RecordLine, one_line
from ace.repairs import cures, edits, failed_call
from ace.task import shell, tool_calls
from ace.task.task import Task, ToolCall
from playbook.lessons.lesson import SourceText, Speaker

MAX_COMMAND, MAX_CODE, MAX_RESULT = 400, 160, 200  # characters in one line
MAX_ERROR = 1_200  # characters of the error lines of one failure
# Kinds of calls that only look.
_SILENT = frozenset({"think", "read", "search"})
# Tools by which a harness keeps lists, starts subagents and loads texts for itself.
_OF_HARNESS = re.compile(
    r"(?:Task|Todo|Skill|ToolSearch|EnterPlanMode|ExitPlanMode|update_plan|write_todos"
    r"|spawn_agent|wait_agent)\w{0,20}"
)
# Tools whose result holds what a person answered.
ASKING_TOOLS = frozenset({"AskUserQuestion", "request_user_input", "ask_user"})


@dataclass(frozen=True)
class SeenCall:
    """A call with the ids of the messages that hold it and its result, and their fields."""

    call: ToolCall
    arguments: SourceText
    result: SourceText
    refusal: str = ""  # the person's words, if they refused the call


def write_calls(calls: Sequence[SeenCall]) -> dict[int, RecordLine]:
    """Return the line of each call that says something, by its index.

    A failing call names the call that then worked.
    """
    cured = _find_cures(calls)
    lines = {}
    for index, seen in enumerate(calls):
        if line := _write(seen, cured.get(index)):
            lines[index] = line
    return lines


def _find_cures(calls: Sequence[SeenCall]) -> dict[int, ToolCall]:
    """Return {index of a failing call: the call that cured it}."""
    task = Task("", "", "", tuple(seen.call for seen in calls))
    found = (repair for repair in cures.find(task) if repair.has_worked)
    return {
        repair.failure.call.index: task.calls[repair.fixed_index] for repair in found
    }


def _write(seen: SeenCall, cure: ToolCall | None) -> RecordLine | None:
    call = seen.call
    sources = (seen.arguments, seen.result)
    if seen.refusal or tool_calls.is_refusal(call.result):
        head = f"{_name(call)}: {one_line(_asked(call), MAX_COMMAND)}"
        said = replace(seen.result, speaker=Speaker.PERSON)
        words = f"the person said: {seen.refusal}" if seen.refusal else ""
        return RecordLine("REJECTED", head, words, (seen.arguments, said))
    if call.has_failed:
        return _write_failure(call, cure, sources)
    if found := list(_write_edits(call)):
        return RecordLine("EDIT", " | ".join(found), sources=(seen.arguments,))
    if call.command and not shell.only_reads(call.command):
        head = f"{one_line(call.command, MAX_COMMAND)} → {_verdict(call)}"
        return RecordLine("RUN", head, sources=sources)
    if call.command or call.kind in _SILENT or not call.is_of_domain:
        return None
    if call.tool_name in ASKING_TOOLS or _OF_HARNESS.fullmatch(call.tool_name):
        return None
    head = f"{_name(call)} {one_line(call.arguments_text, MAX_RESULT)}"
    return RecordLine(
        "CALL", f"{head} → {one_line(call.result, MAX_RESULT)}", sources=sources
    )


def _write_failure(
    call: ToolCall, cure: ToolCall | None, sources: tuple[SourceText, ...]
) -> RecordLine:
    head = f"{_name(call)}: {one_line(_asked(call), MAX_COMMAND)}"
    words = "\n".join(task_errors.choose_lines(call.result))[:MAX_ERROR]
    if cure:
        words += f"\nthen worked: {one_line(_asked(cure), MAX_COMMAND)}"
    return RecordLine("FAILED", head, words, sources)


def _write_edits(call: ToolCall) -> Iterator[str]:
    for edit in edits.read(call):
        path = failed_call.path_of(call).removeprefix(f"{call.cwd.rstrip('/')}/")
        if not edit.old:
            yield f"{path}: written, {edit.new.count(chr(10)) + 1} lines"
            continue
        removed, added = (
            " ".join(line.strip() for line in lines if line.strip())
            for lines in _changed_lines(edit.old, edit.new)
        )
        changes = (
            f"- `{one_line(removed, MAX_CODE)}`" if removed else "",
            f"+ `{one_line(added, MAX_CODE)}`" if added else "",
        )
        yield f"{path}: {' '.join(filter(None, changes))}"


def _changed_lines(old: str, new: str) -> tuple[list[str], list[str]]:
    """Return the lines that only the old text has, and those that only the new one has."""
    before, after = old.splitlines(), new.splitlines()
    return (
        [line for line in before if line not in set(after)],
        [line for line in after if line not in set(before)],
    )


def _asked(call: ToolCall) -> str:
    return call.command or call.arguments_text


def _name(call: ToolCall) -> str:
    return one_line(call.tool_name, 60)


def _verdict(call: ToolCall) -> str:
    if counts := call.test_counts:
        return f"{counts.passed} passed, {counts.failed} failed"
    lines = [line for line in call.result.splitlines() if line.strip()]
    ended = "worked" if call.has_failed is False else "ended"
    return f"{ended}: {one_line(lines[-1], 120)}" if lines else ended

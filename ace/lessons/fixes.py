"""Teach the repairs of a task: one sentence with the whole command that worked.

Only what another task may need is taught: no issue of a linter, no single test, and nothing of
one machine or one moment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import takewhile

from ace.repairs import commands, cures, fix_text
from ace.repairs.cures import TaskRepair
from ace.repairs.failed_call import FailureKind
from ace.repairs.trust import FixWords
from ace.task.task import Task, ToolCall
from common.text import secrets
from playbook.lessons.lesson import Kind, Lesson, Quote, Speaker

PRODUCER, VERSION = "fixes", "1"
CONFIDENCE = 0.7
MAX_LESSONS = 5  # of one task
MAX_WORDS = 40
MAX_QUOTE = 600  # characters
MAX_ERROR_WORDS = 14
_CLAUSE = re.compile(r"(?:\S+ ){2,}\S*[.,:;](?= )")  # up to the last mark between words
_TAIL = re.compile(
    r"(?:\s(?:in|at|from|of|on|to|for|is|the|a|an|are|you))?[\s.,:;(\[-]{0,40}$"
)
_LEAD = re.compile(r"^(?:(?:npm (?:ERR!|error)|error|fatal|ERROR|Error|E|bash|zsh|sh|\(eval\)|go|make|psql)(?:\[\w+\])?: ?(?:line \d+: |\d+: )?|npm (?:ERR!|error) |E {2,}|\S+:\d+(?::\d+)?: )+")  # fmt: skip


def find(task: Task) -> list[Lesson]:
    """Return a lesson for each failure of a task that another call cured, once each."""
    lessons = {
        lesson.content: lesson
        for repair in cures.find(task)
        if repair.has_worked and repair.is_sayable and repair.is_sure
        for lesson in _teach(task, repair)
    }
    return list(lessons.values())[:MAX_LESSONS]


def _teach(task: Task, repair: TaskRepair) -> Iterator[Lesson]:
    failed, fixed = repair.failure.call, task.calls[repair.fixed_index]
    first = None if repair.first_index is None else task.calls[repair.first_index]
    content = _write(repair, first)
    whole = f"{repair.failed} {repair.worked}"
    if content and secrets.is_clean(whole) and not commands.is_private(whole):
        calls = [failed, fixed, *([first] if first else [])]
        quotes = (
            _quote_error(failed, repair.line or repair.signature.line),
            *map(_quote_call, calls),
            *_quote_name(failed),
            *_quote_folder(fixed, repair.folder),
        )
        yield Lesson(
            content=content,
            kind=Kind.FIX,
            failure=repair.signature.digest,
            quotes=quotes,
            applies_to=(f"tool:{_tool(repair)}",),
            category="gotchas",
            producer_name=PRODUCER,
            producer_version=VERSION,
            confidence=CONFIDENCE,
        )


def _write(repair: TaskRepair, first: ToolCall | None) -> str:
    """Return the shortest true sentence, or "" if the repair says nothing to another task."""
    kind, said = repair.failure.kind, _error(repair.line or repair.signature.line)
    if kind is FailureKind.PATH:
        text = f"Open `{repair.worked}`: there is no `{repair.failed}`."
        return text if "/" in repair.worked or "." in repair.worked else ""
    if kind is FailureKind.TOOL:
        words = FixWords(kind, "", repair.failed, repair.worked)
        what, tool = fix_text.describe(words), repair.failure.call.tool_name
        return _fit([f"{what} when calling `{tool}`, which otherwise answers {said}."])
    first_ran = commands.whole(first.command) if first else ""
    if kind is FailureKind.LINT or commands.is_of_one_moment(
        first_ran or repair.worked
    ):
        return ""
    failed = _clean(repair.failed)
    if first:
        start = " ".join(takewhile(lambda word: word[0] != "-", failed.split()))
        return _fit([f"Run `{first_ran}` when `{start}` fails with {said}."])
    if repair.folder:
        return _fit([f"Run `{failed}` in `{repair.folder}`; elsewhere it fails with {said}."])  # fmt: skip
    return _fit(
        [
            f"Run `{repair.worked}`, not `{failed}`, which fails with {said}.",
            f"Run `{repair.worked}`; otherwise it fails with {said}.",
        ]
    )


def _fit(texts: list[str]) -> str:
    return next((text for text in texts if len(text.split()) <= MAX_WORDS), "")


def _clean(command: str) -> str:
    return " ".join(command.split())


def _error(line: str) -> str:
    """Return what an error says, without who says it and where, in marks that it lacks."""
    text = _LEAD.sub("", line).strip() or line
    words = list(takewhile(lambda word: not commands.is_private(word), text.split(" ")))
    short = " ".join(words[:MAX_ERROR_WORDS])
    if len(words) > MAX_ERROR_WORDS and (clause := _CLAUSE.match(short)):
        short = clause[0]
    short = _TAIL.sub("", short) or text
    return f'"{short}"' if '"' not in short else f"“{short}”"


def _tool(repair: TaskRepair) -> str:
    call = repair.failure.call
    found = commands.speaker(call.command, repair.signature.line)
    return found.program if found else call.tool_name


def _quote_error(call: ToolCall, line: str) -> Quote:
    start = call.result.find(line)
    if start < 0:
        start, line = 0, call.result[:MAX_QUOTE]
    text = line[:MAX_QUOTE]
    return Quote(text, call.result_field, start, start + len(text), speaker=Speaker.CALL)  # fmt: skip


def _quote_folder(call: ToolCall, folder: str) -> Iterator[Quote]:
    """Quote the folder that the client said, which is in no argument."""
    if folder:
        end = len(call.cwd.rstrip("/"))
        start = end - len(folder)
        yield Quote(folder, call.cwd_field, start, end, speaker=Speaker.CALL)


def _quote_name(call: ToolCall) -> Iterator[Quote]:
    """Quote the name of a tool; a command names its program itself."""
    name = call.tool_name
    if not call.command:
        yield Quote(name, call.name_field, 0, len(name), speaker=Speaker.CALL)


def _quote_call(call: ToolCall) -> Quote:
    """Quote the command as it stands in the arguments, or all arguments."""
    text = call.arguments_text
    written = json.dumps(call.command, ensure_ascii=False)[1:-1]
    start = max(text.find(written), 0) if call.command else 0
    end = min(start + len(written) if call.command else len(text), start + MAX_QUOTE)
    return Quote(text[start:end], call.arguments_field, start, end, speaker=Speaker.CALL)  # fmt: skip

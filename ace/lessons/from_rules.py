"""Teach what is certain without understanding: fixes, checks, answers, a person's words.

Whatever needs a language to be understood is left to a language model or to the agent.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from ace.lessons import answers, fixes, said
from ace.task import shell
from ace.task.task import Task, ToolCall
from ace.task.task_outcome import TaskOutcome
from playbook.lessons.lesson import Kind, Lesson, Quote

OF_CHECK = 0.7  # the confidence
MAX_QUOTE = 600  # characters of an output
# What a runner prints before it runs the command of a task: "[lint] $ ruff check", "> vitest".
_INNER = re.compile(
    r"^(?:\[[^\]\n]{1,40}\] )?[$>] (?P<command>[a-z][^\n$`\u2026]{3,60})$", re.MULTILINE
)


def teach(
    task: Task, outcome: TaskOutcome, own_phrases: Collection[str] = ()
) -> list[Lesson]:
    """Return the lessons of a task, each sentence once.

    `own_phrases` are those of the project that say that something lasts.
    """
    found = [*fixes.find(task), *find_checks(task), *answers.find(task, outcome)]
    is_answered = any(lesson.kind == Kind.ANSWER for lesson in found)
    words = [] if is_answered else said.find(task, own_phrases)
    return list({lesson.content: lesson for lesson in [*found, *words]}.values())


def find_checks(task: Task) -> Iterator[Lesson]:
    """Yield a lesson for each check that failed, and passed after files were changed."""
    failed: dict[str, ToolCall] = {}
    changed_at = -1
    for call in task.calls:
        if call.kind in ("create", "modify", "delete", "move") and not call.has_failed:
            changed_at = call.index
        check = shell.project_check(call.command) if call.command else ""
        if check and call.has_failed:
            failed.setdefault(check, call)
        elif check in failed and changed_at > failed[check].index:
            yield _check(check, failed.pop(check), call)


def _check(check: str, failed: ToolCall, passed: ToolCall) -> Lesson:
    inner = _inner_command(failed, check) or _inner_command(passed, check)
    which = f" (it runs `{inner.quote}`)" if inner else ""
    output = failed.result[:MAX_QUOTE]
    calls = [_quote_words(call, check) for call in (failed, passed)]
    quotes = [*calls, inner, Quote(output, failed.result_field, 0, len(output))]
    return Lesson(
        content=f"Before finishing a change, run `{check}`{which}: it has found errors that "
        "had to be fixed.",
        kind=Kind.CHECK,
        quotes=tuple(filter(None, quotes)),
        applies_to=("always",),
        category="best_practices",
        confidence=OF_CHECK,
    )


def _inner_command(call: ToolCall, check: str) -> Quote | None:
    """Return what the runner runs for the check, unless the call passed it arguments."""
    found = _INNER.search(call.result[:2_000])
    if found is None or f"{check} -" in " ".join(call.command.split()):
        return None
    command = found["command"].strip()
    start = found.start("command")
    return Quote(command, call.result_field, start, start + len(command))


def _quote_words(call: ToolCall, words: str) -> Quote | None:
    start = call.arguments_text.find(words)
    end = start + len(words)
    return Quote(words, call.arguments_field, start, end) if start >= 0 else None

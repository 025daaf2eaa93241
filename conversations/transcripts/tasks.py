"""Find the tasks in the messages of a transcript: what an agent did for each prompt.

What teaches nothing is left out: lines of the harness, of subagents and of compactions,
echoes of commands, thinking, and what this service itself gave to the agent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from common.text.memory_fence import remove_fenced
from conversations.formats.harness import read_refusal, split_harness
from conversations.formats.message import ChatMessage, Part, content_text
from conversations.models import Message
from conversations.transcripts.events import (
    OUTSIDE_MARKS,
    TranscriptTask,
    recorded_fields,
)

MAX_CALLS = 500  # newest calls of a task that are kept, as in docs/limits.md
_INTERRUPTED = "[Request interrupted by user"
# The output of `git commit`, as in `[main 1a2b3c4] Fix the build`.
_COMMIT = re.compile(r"^\[[^\]\n]{1,200}? ([0-9a-f]{7,40})\]", re.MULTILINE)


def read_tasks(messages: Iterable[ChatMessage]) -> Iterator[TranscriptTask]:
    """Yield each task after its last message; the last one ends with the messages."""
    reader = TaskReader()
    for message in messages:
        if task := reader.add(message):
            yield task
    if task := reader.finish():
        yield task


def prompt_of(message: ChatMessage | Message) -> str:
    """Return what a person asked in a message, and "" if it is no person's prompt."""
    if message.role != "user" or is_outside_of_tasks(message):
        return ""
    if any(part["type"] == "tool_result" for part in message.parts):
        return ""
    texts = (part["text"] for part in message.parts if part["type"] == "text")
    words = split_harness("\n".join(texts))[0].strip()
    return "" if words.startswith(_INTERRUPTED) else words


def is_outside_of_tasks(message: ChatMessage | Message) -> bool:
    """Return whether a message is the harness's, a subagent's, or a compaction's."""
    fields = recorded_fields(message.metadata)
    return any(fields.get(mark) for mark in OUTSIDE_MARKS)


@dataclass
class _OpenTask:
    """A task while its messages are read."""

    goal: str
    cwd: str
    branch: str
    started_at: datetime | None
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    feedback: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    message_ids: list[str] = field(default_factory=list)
    result: str = ""
    outcome: str = ""
    ended_at: datetime | None = None


class TaskReader:
    """Collect the task of each prompt, from messages in their order.

    A prompt without a tool call is a task only if `teaches` says so of its words.
    """

    def __init__(self, teaches: Callable[[str], bool] | None = None) -> None:
        self._task: _OpenTask | None = None
        self._teaches = teaches

    def add(self, message: ChatMessage) -> TranscriptTask | None:
        """Read a message; return the task that it ends, by being the next prompt."""
        finished = None
        if prompt := prompt_of(message):
            finished = self.finish()
            self._task = _begin(prompt, message)
        if self._task and not is_outside_of_tasks(message):
            _add_message(self._task, message)
        return finished

    def finish(self) -> TranscriptTask | None:
        """End the present task; one without a tool call mostly taught nothing."""
        task, self._task = self._task, None
        if task is None:
            return None
        is_task = task.calls or (self._teaches and self._teaches(task.goal))
        return _close(task) if is_task else None


def _begin(prompt: str, message: ChatMessage) -> _OpenTask:
    fields = recorded_fields(message.metadata)
    cwd, branch = _text(fields.get("cwd")), _text(fields.get("branch"))
    return _OpenTask(prompt, cwd, branch, message.created_at)


def _add_message(task: _OpenTask, message: ChatMessage) -> None:
    fields = recorded_fields(message.metadata)
    task.message_ids.append(message.external_id)
    task.ended_at = message.created_at
    if fields.get("interrupted"):
        task.outcome = "unknown"
    for part in message.parts:
        if part["type"] == "tool_call":
            _add_call(task, part, _text(fields.get("cwd")))
        elif part["type"] == "tool_result":
            _add_result(task, part)
        elif part["type"] == "text" and message.role == "assistant":
            task.result = remove_fenced(part["text"]).strip()
        elif part["type"] == "text" and part["text"].startswith(_INTERRUPTED):
            task.outcome = "unknown"


def _add_call(task: _OpenTask, part: Part, cwd: str) -> None:
    task.calls[part["id"]] = {
        "tool": part["name"],
        "arguments": part["arguments"],
        "result": None,
        "is_error": False,
        "cwd": cwd,
    }
    if len(task.calls) > MAX_CALLS:
        del task.calls[next(iter(task.calls))]


def _add_result(task: _OpenTask, part: Part) -> None:
    call = task.calls.get(part["id"])
    if call is None:
        return
    text = remove_fenced(content_text(part["content"]))
    if words := read_refusal(text, is_error=part["is_error"]):
        task.feedback.append(words)
    call["result"], call["is_error"] = text, part["is_error"]
    task.references += [f"commit:{found}" for found in _COMMIT.findall(text)]


def _close(task: _OpenTask) -> TranscriptTask:
    return TranscriptTask(
        goal=task.goal,
        result=task.result,
        tool_usage=list(task.calls.values()),
        feedback="\n".join(task.feedback),
        outcome=task.outcome,
        started_at=task.started_at,
        ended_at=task.ended_at,
        cwd=task.cwd,
        branch=task.branch,
        references=list(dict.fromkeys(task.references)),
        message_ids=task.message_ids,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

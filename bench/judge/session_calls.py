"""The tool calls of recorded sessions, each once, and the prompts that led to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conversations.formats.message import ChatMessage, content_text
from conversations.transcripts.events import TranscriptTask, recorded_fields
from conversations.transcripts.open_file import read_lines
from conversations.transcripts.reader import read_messages
from conversations.transcripts.tasks import read_tasks

# The arguments in which tools of several harnesses name a file.
PATH_ARGUMENTS = ("file_path", "path", "notebook_path", "filename", "file")
COMMAND_ARGUMENTS = ("command", "cmd")
OLD_ARGUMENTS = ("old_string", "old_str", "old_text")
NEW_ARGUMENTS = ("new_string", "new_str", "new_text", "content", "file_text")


@dataclass(frozen=True)
class EditHunk:
    """A text that an edit replaced, and what it wrote instead; a new file replaces nothing."""

    old: str
    new: str


@dataclass(frozen=True)
class SessionCall:
    """A call of a tool and its result; `task` is its task's number in the session."""

    id: str
    tool: str
    arguments: Mapping[str, Any]
    result: str = ""
    is_error: bool = False
    cwd: str = ""
    task: int | None = None

    @property
    def command(self) -> str:
        """The shell command, "" for a call of another tool."""
        if self.path:
            return ""
        value = _first(self.arguments, COMMAND_ARGUMENTS)
        if isinstance(value, list):
            return str(value[-1]) if value else ""
        return value if isinstance(value, str) else ""

    @property
    def path(self) -> str:
        value = _first(self.arguments, PATH_ARGUMENTS)
        return value if isinstance(value, str) else ""

    @property
    def hunks(self) -> tuple[EditHunk, ...]:
        """What the call changed in its file, () for a call that edits nothing."""
        edits = self.arguments.get("edits")
        parts = edits if isinstance(edits, list) else [self.arguments]
        return tuple(filter(None, map(_hunk, parts)))


@dataclass(frozen=True)
class RecordedTask:
    """A prompt of a person, and how the agent answered in the end."""

    goal: str
    result: str
    outcome: str
    feedback: str
    branch: str


@dataclass(frozen=True)
class RecordedSession:
    name: str
    tasks: tuple[RecordedTask, ...]
    calls: tuple[SessionCall, ...]

    def calls_of(self, task: int) -> tuple[SessionCall, ...]:
        return tuple(call for call in self.calls if call.task == task)


@dataclass
class ReadCounts:
    """How many calls were dropped: replayed by a resumed session, or without a result."""

    replayed: int = 0
    unanswered: int = 0


@dataclass
class _Open:
    """A session while its transcript is read."""

    calls: dict[str, SessionCall] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    message_of: dict[str, str] = field(default_factory=dict)
    tasks: list[TranscriptTask] = field(default_factory=list)


def read_sessions(
    paths: Iterable[Path], counts: ReadCounts | None = None
) -> Iterator[RecordedSession]:
    """Yield the sessions in the order of their files.

    A resumed session repeats the calls of the session before it. They are known by their
    ids, and dropped.
    """
    counts = counts if counts is not None else ReadCounts()
    known: set[str] = set()
    for path in paths:
        opened = _read(path, known, counts)
        counts.unanswered += len(opened.calls.keys() - opened.answered)
        known |= opened.calls.keys()
        yield _close(path.name, opened)


def _read(path: Path, known: set[str], counts: ReadCounts) -> _Open:
    messages = list(read_messages("claude-code", read_lines(path)))
    opened = _Open(tasks=list(read_tasks(messages)))
    for message in messages:
        for part in message.parts:
            if part["type"] == "tool_call":
                if part["id"] in known or part["id"] in opened.calls:
                    counts.replayed += 1
                else:
                    _add_call(opened, message, part)
            elif part["type"] == "tool_result" and part["id"] in opened.calls:
                _add_result(opened, part)
    return opened


def _add_call(opened: _Open, message: ChatMessage, part: dict[str, Any]) -> None:
    arguments = part["arguments"] if isinstance(part["arguments"], dict) else {}
    cwd = str(recorded_fields(message.metadata).get("cwd") or "")
    opened.calls[part["id"]] = SessionCall(part["id"], part["name"], arguments, cwd=cwd)
    opened.message_of[part["id"]] = message.external_id


def _add_result(opened: _Open, part: dict[str, Any]) -> None:
    opened.answered.add(part["id"])
    opened.calls[part["id"]] = replace(
        opened.calls[part["id"]],
        result=content_text(part["content"]),
        is_error=part["is_error"],
    )


def _close(name: str, opened: _Open) -> RecordedSession:
    """Return the session; a task without a call of its own is left out."""
    task_of = {
        message_id: number
        for number, task in enumerate(opened.tasks)
        for message_id in task.message_ids
    }
    calls = tuple(
        replace(call, task=task_of.get(opened.message_of[call.id]))
        for call in opened.calls.values()
        if call.id in opened.answered
    )
    return RecordedSession(name, tuple(map(_task, opened.tasks)), calls)


def _task(task: TranscriptTask) -> RecordedTask:
    return RecordedTask(
        task.goal, task.result, task.outcome, task.feedback, task.branch
    )


def _hunk(arguments: object) -> EditHunk | None:
    if not isinstance(arguments, dict):
        return None
    new = _first(arguments, NEW_ARGUMENTS)
    old = _first(arguments, OLD_ARGUMENTS)
    if not isinstance(new, str):
        return None
    return EditHunk(old if isinstance(old, str) else "", new)


def _first(arguments: Mapping[str, Any], names: Iterable[str]) -> object:
    return next((arguments[name] for name in names if name in arguments), None)

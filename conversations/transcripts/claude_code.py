"""Read the transcripts that Claude Code writes: JSON lines.

Each line with words becomes a message, also those that teach nothing (meta, sidechain,
compaction, echoes of commands): a session is stored without loss. Lines that have no words,
such as the times of a turn, are only counted. A line's `uuid` is the message's external id, so
that reading the file again, or its longer successor, stores only what is new.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.conf import settings

from common.text import storable_json
from conversations.formats import anthropic
from conversations.formats.convert import name_results
from conversations.formats.harness import read_refusal, split_harness
from conversations.formats.message import (
    ChatMessage,
    MalformedMessage,
    content_text,
)
from conversations.transcripts.events import (
    TranscriptCounts,
    TranscriptMessage,
    TranscriptTask,
)

# Lines are put in the order of their times as far as this many lines allow, because the file
# is read as a stream.
WINDOW = 32
_INTERRUPTED = "[Request interrupted by user"
# The output of `git commit`, as in `[main 1a2b3c4] Fix the build`.
_COMMIT = re.compile(r"^\[[^\]\n]{1,200}? ([0-9a-f]{7,40})\]", re.MULTILINE)
# The fields of a line that a message keeps in its metadata.
KEPT_FIELDS = {
    "uuid": "uuid",
    "parentUuid": "parent",
    "isSidechain": "sidechain",
    "isMeta": "meta",
    "isCompactSummary": "compaction",
    "cwd": "cwd",
    "gitBranch": "branch",
    "requestId": "request_id",
    "subtype": "subtype",
}
Event = TranscriptMessage | TranscriptTask


def read_transcript(
    lines: Iterable[str | bytes], counts: TranscriptCounts | None = None
) -> Iterator[Event]:
    """Yield the messages of a transcript, and each task after its last message.

    The tasks of a session that is still going on end with the file. `counts` is filled in.
    """
    counts = counts if counts is not None else TranscriptCounts()
    reader = _Reader(counts)
    for line in _by_time(_parse(lines, counts)):
        yield from reader.read(line)
    yield from reader.finish()


def _parse(
    lines: Iterable[str | bytes], counts: TranscriptCounts
) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    for line in lines:
        text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
        if not text.strip():
            continue
        counts.lines += 1
        try:
            # Characters that PostgreSQL cannot store become U+FFFD, as in a request.
            parsed = storable_json.parse(text, levels=settings.BODY_DEPTH)
            storable = storable_json.make_storable(parsed)
        except (ValueError, RecursionError):
            counts.left_out["not JSON"] += 1
            continue
        value = storable.value
        if not isinstance(value, dict):
            counts.left_out["no object"] += 1
            continue
        uuid = value.get("uuid")
        if isinstance(uuid, str) and uuid in seen:
            counts.left_out["repeated"] += 1
            continue
        if isinstance(uuid, str):
            seen.add(uuid)
        counts.replaced += len(storable.replaced)
        yield value


def _by_time(lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the lines in the order of their times, within a window of lines."""
    window: list[tuple[str, int, dict[str, Any]]] = []
    newest = ""
    for number, line in enumerate(lines):
        moment = line.get("timestamp")
        moment = moment if isinstance(moment, str) else newest
        newest = max(newest, moment)
        heapq.heappush(window, (moment, number, line))
        if len(window) > WINDOW:
            yield heapq.heappop(window)[2]
    while window:
        yield heapq.heappop(window)[2]


@dataclass
class _OpenTask:
    """A task while its lines are read."""

    session_id: str
    goal: str
    line: dict[str, Any]
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    feedback: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    message_ids: list[str] = field(default_factory=list)
    result: str = ""
    outcome: str = ""
    ended_at: datetime | None = None


class _Reader:
    """Turn lines into messages, and collect the task of each prompt."""

    def __init__(self, counts: TranscriptCounts) -> None:
        self.counts = counts
        self.task: _OpenTask | None = None
        # {id of a call: name of its tool}
        self.tools: dict[str, str] = {}

    def read(self, line: dict[str, Any]) -> Iterator[Event]:
        message = self._message_of(line)
        if message is None:
            return
        session_id = _text(line, "sessionId")
        prompt = _prompt_of(line, message)
        if prompt:
            yield from self.finish()
            self.task = _OpenTask(session_id, prompt, line)
        self.counts.messages += 1
        yield TranscriptMessage(session_id, message)
        if self.task and not _is_outside_of_tasks(line):
            self._add_to_task(self.task, message)

    def finish(self) -> Iterator[TranscriptTask]:
        """End the present task; one without a tool call taught nothing."""
        task, self.task = self.task, None
        if task and task.calls:
            self.counts.tasks += 1
            yield _close(task)

    def _message_of(self, line: dict[str, Any]) -> ChatMessage | None:
        kind = line.get("type")
        if kind not in ("user", "assistant", "system"):
            self.counts.left_out[f"type {kind}"] += 1
            return None
        sent = line.get("message")
        if kind == "system":
            sent = {"role": "system", "content": line.get("content") or ""}
        try:
            message = _read_words(sent)
        except MalformedMessage as error:
            self.counts.left_out[f"malformed: {error.path}"] += 1
            return None
        if not any(_has_words(part) for part in message.parts):
            self.counts.left_out["no words"] += 1
            return None
        return self._complete(line, message)

    def _complete(self, line: dict[str, Any], message: ChatMessage) -> ChatMessage:
        metadata = {
            name: line[key] for key, name in KEPT_FIELDS.items() if line.get(key)
        }
        model = (line.get("message") or {}).get("model")
        if isinstance(model, str):
            metadata["model"] = model
        complete = replace(
            message,
            external_id=_text(line, "uuid"),
            created_at=_moment(line),
            metadata={"claude_code": metadata},
        )
        return name_results(complete, self.tools)

    def _add_to_task(self, task: _OpenTask, message: ChatMessage) -> None:
        task.message_ids.append(message.external_id)
        task.ended_at = message.created_at
        for part in message.parts:
            if part["type"] == "tool_call":
                task.calls[part["id"]] = {
                    "tool": part["name"],
                    "arguments": part["arguments"],
                    "result": "",
                    "is_error": False,
                }
            elif part["type"] == "tool_result":
                _add_result(task, part)
            elif part["type"] == "text" and message.role == "assistant":
                task.result = part["text"]
            elif part["type"] == "text" and part["text"].startswith(_INTERRUPTED):
                task.outcome = "unknown"


def _read_words(sent: Any) -> ChatMessage:
    if not isinstance(sent, dict):
        raise MalformedMessage("message", "Must be an object.")
    role, content = sent.get("role"), sent.get("content")
    if not isinstance(content, str | list):
        raise MalformedMessage("content", "Must be a text or a list of blocks.")
    return anthropic.read_message({"role": role, "content": content})


def _has_words(part: dict[str, Any]) -> bool:
    return part["type"] not in ("text", "thinking") or bool(part["text"].strip())


def _prompt_of(line: dict[str, Any], message: ChatMessage) -> str:
    """Return what a person asked in a line, and "" if the line is no person's prompt."""
    if line.get("type") != "user" or _is_outside_of_tasks(line):
        return ""
    if any(part["type"] == "tool_result" for part in message.parts):
        return ""
    texts = (part["text"] for part in message.parts if part["type"] == "text")
    words = split_harness("\n".join(texts))[0].strip()
    return "" if words.startswith(_INTERRUPTED) else words


def _is_outside_of_tasks(line: dict[str, Any]) -> bool:
    """Return whether a line is the harness's, a subagent's, or a compaction's."""
    return bool(
        line.get("isMeta") or line.get("isSidechain") or line.get("isCompactSummary")
    )


def _add_result(task: _OpenTask, part: dict[str, Any]) -> None:
    call = task.calls.get(part["id"])
    if call is None:
        return
    text = content_text(part["content"])
    if words := read_refusal(text):
        task.feedback.append(words)
    call["result"], call["is_error"] = text, part["is_error"]
    task.references += [f"commit:{found}" for found in _COMMIT.findall(text)]


def _close(task: _OpenTask) -> TranscriptTask:
    return TranscriptTask(
        session_id=task.session_id,
        goal=task.goal,
        result=task.result,
        tool_usage=list(task.calls.values()),
        feedback="\n".join(task.feedback),
        outcome=task.outcome,
        started_at=_moment(task.line),
        ended_at=task.ended_at,
        cwd=_text(task.line, "cwd"),
        branch=_text(task.line, "gitBranch"),
        references=list(dict.fromkeys(task.references)),
        message_ids=task.message_ids,
    )


def _text(line: dict[str, Any], name: str) -> str:
    value = line.get(name)
    return value if isinstance(value, str) else ""


def _moment(line: dict[str, Any]) -> datetime | None:
    try:
        moment = datetime.fromisoformat(_text(line, "timestamp"))
    except ValueError:
        return None
    return moment if moment.tzinfo else None

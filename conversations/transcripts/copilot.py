"""Read the events that Copilot CLI writes to `~/.copilot/session-state/<session>/events.jsonl`.

An event is {id, timestamp, type, data}; its id is the message's external id. A message of the
assistant names the calls that it asks for; an event of its own has the result of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conversations.formats.message import ChatMessage, Part
from conversations.transcripts.events import (
    KEY,
    LineWithoutMessage,
    TranscriptContext,
    UnknownLine,
)
from conversations.transcripts.fields import (
    attachment_part,
    call_part,
    moment_of,
    object_of,
    objects_of,
    plain,
    result_part,
    text_of,
    text_part,
    thinking_part,
)

# A shell tool succeeds with a command that failed, and says so at its end.
_EXIT_STATUS = re.compile(r"<(?:command )?exited with exit code (?!0>)-?\d{1,5}>?\s*\Z")
MAX_END = 80  # characters
# Events that repeat what others say, or say how the harness works: by their first word.
WITHOUT_WORDS = frozenset(
    {
        "assistant",
        "auto_mode_switch",
        "capabilities",
        "command",
        "commands",
        "elicitation",
        "external_tool",
        "hook",
        "mcp",
        "model",
        "pending_messages",
        "permission",
        "sampling",
        "session",
        "skill",
        "subagent",
        "tool",
        "tool_search",
        "ui",
        "user_input",
    }
)


def read_line(
    line: Mapping[str, Any], context: TranscriptContext
) -> Iterable[ChatMessage]:
    kind, data = text_of(line, "type"), object_of(line, "data")
    if kind in ("session.start", "session.resume", "session.context_changed"):
        _read_context(data, context)
    if reader := READERS.get(kind):
        role, parts, fields = reader(data)
        return [
            ChatMessage(
                role,
                tuple(parts),
                external_id=text_of(line, "id"),
                created_at=moment_of(line),
                metadata={KEY: fields} if fields else {},
            )
        ]
    if kind.partition(".")[0] in WITHOUT_WORDS:
        raise LineWithoutMessage(f"type {kind}")
    raise UnknownLine(kind or "line")


def _read_context(data: Mapping[str, Any], context: TranscriptContext) -> None:
    found = object_of(data, "context") or data
    context.session_id = context.session_id or text_of(data, "sessionId")
    context.cwd = text_of(found, "cwd") or context.cwd
    context.branch = text_of(found, "branch") or context.branch
    context.model = text_of(data, "selectedModel") or context.model


ReadEvent = tuple[str, list[Part], dict[str, Any]]


def _read_user(data: Mapping[str, Any]) -> ReadEvent:
    """Read a prompt; one that does not come from a person is the harness's."""
    parts = [text_part(text_of(data, "content"))]
    parts += [
        attachment_part(
            text_of(each, "type"),
            name=text_of(each, "displayName") or text_of(each, "path"),
        )
        for each in objects_of(data, "attachments")
    ]
    is_meta = text_of(data, "source") not in ("", "user")
    is_meta = is_meta or data.get("isAutopilotContinuation") is True
    return "user", parts, _marks(meta=is_meta, sidechain=_is_of_subagent(data))


def _read_assistant(data: Mapping[str, Any]) -> ReadEvent:
    parts = [thinking_part(text_of(data, "reasoningText"))]
    parts += [text_part(text_of(data, "content"))]
    parts += [
        call_part(
            text_of(each, "toolCallId"), text_of(each, "name"), each.get("arguments")
        )
        for each in objects_of(data, "toolRequests")
    ]
    said = [part for part in parts if part.get("text") != ""]
    return "assistant", said, _marks(sidechain=_is_of_subagent(data))


def _read_result(data: Mapping[str, Any]) -> ReadEvent:
    has_failed = data.get("success") is False
    answer = object_of(data, "error" if has_failed else "result")
    content = plain(answer.get("message" if has_failed else "content", ""))
    has_failed = has_failed or states_failure(content)
    part = result_part(text_of(data, "toolCallId"), content, is_error=has_failed)
    return "tool", [part], _marks(sidechain=_is_of_subagent(data))


def states_failure(text: str) -> bool:
    """Return whether the end of a result says that the command of a shell failed."""
    return _EXIT_STATUS.search(text, max(len(text) - MAX_END, 0)) is not None


def _read_system(data: Mapping[str, Any]) -> ReadEvent:
    text = text_of(data, "content") or text_of(data, "message")
    return "system", [text_part(text)], {"meta": True}


def _read_compaction(data: Mapping[str, Any]) -> ReadEvent:
    summary = text_part(text_of(data, "summaryContent"))
    return "system", [summary], {"compaction": True}


def _read_abort(data: Mapping[str, Any]) -> ReadEvent:
    said = text_part(f"Aborted: {text_of(data, 'reason') or 'by the user'}")
    return "system", [said], {"interrupted": True}


def _is_of_subagent(data: Mapping[str, Any]) -> bool:
    return bool(text_of(data, "parentToolCallId"))


def _marks(**marks: bool) -> dict[str, Any]:
    return {name: True for name, is_set in marks.items() if is_set}


READERS: dict[str, Callable[[Mapping[str, Any]], ReadEvent]] = {
    "user.message": _read_user,
    "assistant.message": _read_assistant,
    "tool.execution_complete": _read_result,
    "system.message": _read_system,
    "system.notification": _read_system,
    "session.info": _read_system,
    "session.warning": _read_system,
    "session.error": _read_system,
    "session.compaction_complete": _read_compaction,
    "abort": _read_abort,
}

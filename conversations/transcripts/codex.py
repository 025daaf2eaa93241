"""Read the rollout lines that Codex writes to `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`.

A line is {timestamp, type, payload}. The conversation is in `response_item`, in the form of
OpenAI's Responses API; `event_msg` repeats it for the screen. Older files have the payloads of
`response_item` as lines. A line has no id, so that a message's external id is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from conversations.formats.harness import split_harness
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
    read_json,
    result_part,
    text_of,
    text_part,
    thinking_part,
)

# How a shell tool states the exit status at the beginning of its output.
_EXIT_STATUS = re.compile(r"(?:Exit code: |exited with code )(-?\d{1,5})")
MAX_HEAD = 400  # characters of an output in which its status is stated
# Another role is the harness's.
ROLES = {"user": "user", "assistant": "assistant"}


def read_line(
    line: Mapping[str, Any], context: TranscriptContext
) -> Iterable[ChatMessage]:
    kind, payload = line.get("type"), object_of(line, "payload")
    if kind in ("session_meta", "turn_context"):
        _read_context(payload, context)
        raise LineWithoutMessage(f"type {kind}")
    if kind == "event_msg":
        return [_read_event(line, payload)]
    if kind == "compacted":
        fields = {"compaction": True}
        return [
            _message(line, "system", [text_part(text_of(payload, "message"))], fields)
        ]
    item = payload if kind == "response_item" else line
    reader = READERS.get(text_of(item, "type"))
    if reader is None:
        raise UnknownLine(f"{kind} {text_of(item, 'type')}".strip())
    return [reader(line, item)]


def _read_context(payload: Mapping[str, Any], context: TranscriptContext) -> None:
    context.session_id = context.session_id or text_of(payload, "id")
    context.cwd = text_of(payload, "cwd") or context.cwd
    context.model = text_of(payload, "model") or context.model
    context.branch = text_of(object_of(payload, "git"), "branch") or context.branch


def _read_event(line: Mapping[str, Any], payload: Mapping[str, Any]) -> ChatMessage:
    """Read what only an event says: that the person interrupted the agent, and errors."""
    kind = text_of(payload, "type")
    if kind == "turn_aborted":
        said = f"Turn aborted: {text_of(payload, 'reason') or 'interrupted'}"
        return _message(line, "system", [text_part(said)], {"interrupted": True})
    if kind in ("error", "stream_error", "warning"):
        return _message(line, "system", [text_part(text_of(payload, "message"))])
    raise LineWithoutMessage(f"event_msg {kind}")


def _read_message(line: Mapping[str, Any], item: Mapping[str, Any]) -> ChatMessage:
    parts = [_read_content(each) for each in objects_of(item, "content")]
    role = ROLES.get(text_of(item, "role"), "system")
    said = [part["text"] for part in parts if part["type"] == "text"]
    is_harness = role == "user" and all(
        not split_harness(text)[0].strip() for text in said
    )
    return _message(line, role, parts, {"meta": True} if is_harness else None)


def _read_message_of_agent(
    line: Mapping[str, Any], item: Mapping[str, Any]
) -> ChatMessage:
    """Read what one agent writes to another."""
    parts = [_read_content(each) for each in objects_of(item, "content")]
    return _message(line, "assistant", parts, {"sidechain": True})


def _read_content(content: Mapping[str, Any]) -> Part:
    if "text" in content:
        return text_part(text_of(content, "text"))
    return attachment_part(
        text_of(content, "type") or "attachment", url=text_of(content, "image_url")
    )


def _read_call(line: Mapping[str, Any], item: Mapping[str, Any]) -> ChatMessage:
    arguments = item.get("arguments", item.get("input"))
    part = call_part(text_of(item, "call_id"), text_of(item, "name"), arguments)
    return _message(line, "assistant", [part])


def _read_shell_call(line: Mapping[str, Any], item: Mapping[str, Any]) -> ChatMessage:
    call_id = text_of(item, "call_id") or text_of(item, "id")
    part = call_part(call_id, "local_shell", dict(object_of(item, "action")))
    return _message(line, "assistant", [part])


def _read_search(line: Mapping[str, Any], item: Mapping[str, Any]) -> ChatMessage:
    part = call_part(text_of(item, "id"), "web_search", dict(object_of(item, "action")))
    return _message(line, "assistant", [part])


def _read_output(line: Mapping[str, Any], item: Mapping[str, Any]) -> ChatMessage:
    output = item.get("output")
    is_error = False
    if isinstance(output, Mapping):
        is_error = output.get("success") is False
        output = output.get("content", "")
    if isinstance(output, list):
        output = "\n".join(text_of(each, "text") for each in objects_of(item, "output"))
    text, status = _read_status(plain(output))
    part = result_part(
        text_of(item, "call_id"), text, is_error=is_error or bool(status)
    )
    return _message(line, "tool", [part])


def _read_status(output: str) -> tuple[str, int]:
    """Return the text of a shell's output, and its exit status; 0 if none is stated.

    The shell tool writes JSON, {output, metadata {exit_code}}, or states the status in the
    first lines of the text.
    """
    value = read_json(output) if output.startswith("{") else None
    if isinstance(value, Mapping):
        status = object_of(value, "metadata").get("exit_code")
        if isinstance(status, int) and isinstance(value.get("output"), str):
            return value["output"], status
    stated = _EXIT_STATUS.search(output, 0, MAX_HEAD)
    return output, int(stated[1]) if stated else 0


def _read_reasoning(line: Mapping[str, Any], item: Mapping[str, Any]) -> ChatMessage:
    found = objects_of(item, "summary") + objects_of(item, "content")
    return _message(
        line, "assistant", [thinking_part(text_of(each, "text")) for each in found]
    )


def _message(
    line: Mapping[str, Any],
    role: str,
    parts: list[Part],
    fields: Mapping[str, Any] | None = None,
) -> ChatMessage:
    metadata = {KEY: dict(fields)} if fields else {}
    return ChatMessage(
        role, tuple(parts), created_at=moment_of(line), metadata=metadata
    )


READERS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], ChatMessage]] = {
    "message": _read_message,
    "agent_message": _read_message_of_agent,
    "reasoning": _read_reasoning,
    "function_call": _read_call,
    "custom_tool_call": _read_call,
    "tool_search_call": _read_call,
    "local_shell_call": _read_shell_call,
    "web_search_call": _read_search,
    "function_call_output": _read_output,
    "custom_tool_call_output": _read_output,
    "local_shell_call_output": _read_output,
    "tool_search_output": _read_output,
}

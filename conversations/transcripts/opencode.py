"""Read a session of OpenCode, as `opencode export` writes it: {info, messages}.

A message is {info {id, role, time}, parts}; lines of such messages are read too. The parts of
the assistant are messages of their own here, by their ids, so that an export that is made
again later adds only what is new in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
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
    moment_of_milliseconds,
    object_of,
    objects_of,
    plain,
    result_part,
    text_of,
    text_part,
    thinking_part,
)

ABORTED = "MessageAbortedError"


def split(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Divide an export into the session and its messages."""
    if "messages" not in value:
        yield value
        return
    yield {"info": value.get("info")}
    yield from objects_of(value, "messages")


def read_line(
    line: Mapping[str, Any], context: TranscriptContext
) -> Iterable[ChatMessage]:
    info = object_of(line, "info")
    role = text_of(info, "role")
    if not role and "directory" in info:
        context.session_id = text_of(info, "id") or context.session_id
        context.cwd = text_of(info, "directory") or context.cwd
        raise LineWithoutMessage("header info")
    if role not in ("user", "assistant"):
        raise UnknownLine(role or "line")
    context.session_id = text_of(info, "sessionID") or context.session_id
    if role == "user":
        return _read_user(line, info)
    context.cwd = text_of(object_of(info, "path"), "cwd") or context.cwd
    context.model = text_of(info, "modelID") or context.model
    return _read_assistant(line, info)


def _read_user(
    line: Mapping[str, Any], info: Mapping[str, Any]
) -> Iterator[ChatMessage]:
    """Yield the person's words as one message, and what the harness added as another."""
    added = [each for each in objects_of(line, "parts") if each.get("synthetic")]
    own = [each for each in objects_of(line, "parts") if not each.get("synthetic")]
    message_id, moment = text_of(info, "id"), _moment(info)
    yield _message("user", _read_parts(own), message_id, moment)
    if added:
        parts = _read_parts(added)
        yield _message("user", parts, f"{message_id}:added", moment, meta=True)


def _read_assistant(
    line: Mapping[str, Any], info: Mapping[str, Any]
) -> Iterator[ChatMessage]:
    message_id, moment = text_of(info, "id"), _moment(info)
    is_summary = info.get("summary") is True
    for number, part in enumerate(objects_of(line, "parts")):
        part_id = text_of(part, "id") or f"{message_id}:{number}"
        if part.get("type") == "tool":
            yield from _read_tool(part, part_id, moment)
        elif found := _read_parts([part]):
            yield _message("assistant", found, part_id, moment, compaction=is_summary)
    error = object_of(info, "error")
    if error:
        said = text_of(object_of(error, "data"), "message") or text_of(error, "name")
        is_aborted = text_of(error, "name") == ABORTED
        error_id = f"{message_id}:error"
        yield _message(
            "system", [text_part(said)], error_id, moment, interrupted=is_aborted
        )


def _read_tool(
    part: Mapping[str, Any], part_id: str, moment: datetime | None
) -> Iterator[ChatMessage]:
    state = object_of(part, "state")
    call_id, name = text_of(part, "callID"), text_of(part, "tool")
    asked = call_part(call_id, name, state.get("input"))
    yield _message("assistant", [asked], part_id, moment)
    status = text_of(state, "status")
    if status not in ("completed", "error"):
        return
    has_failed = status == "error"
    content = plain(state.get("error" if has_failed else "output", ""))
    code = object_of(state, "metadata").get("exit")
    has_failed = has_failed or (isinstance(code, int) and code != 0)
    end = moment_of_milliseconds(object_of(state, "time").get("end"))
    answer = result_part(call_id, content, is_error=has_failed, name=name)
    yield _message("tool", [answer], f"{part_id}:result", end or moment)


def _read_parts(parts: list[Mapping[str, Any]]) -> list[Part]:
    """Return what parts say; those that only serve the harness say nothing."""
    found = []
    for part in parts:
        kind = part.get("type")
        if kind == "text":
            found.append(text_part(text_of(part, "text")))
        elif kind == "reasoning":
            found.append(thinking_part(text_of(part, "text")))
        elif kind == "subtask":
            found.append(text_part(text_of(part, "prompt")))
        elif kind == "file":
            name, url = text_of(part, "filename"), text_of(part, "url")
            found.append(attachment_part(text_of(part, "mime"), name=name, url=url))
    return found


def _moment(info: Mapping[str, Any]) -> datetime | None:
    return moment_of_milliseconds(object_of(info, "time").get("created"))


def _message(
    role: str,
    parts: list[Part],
    message_id: str,
    moment: datetime | None,
    **marks: bool,
) -> ChatMessage:
    fields = {name: True for name, is_set in marks.items() if is_set}
    return ChatMessage(
        role,
        tuple(parts),
        external_id=message_id,
        created_at=moment,
        metadata={KEY: fields} if fields else {},
    )

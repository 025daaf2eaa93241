"""Read the chats that Gemini CLI writes to `~/.gemini/tmp/<project>/chats/session-*.jsonl`.

The first line names the session; each other line is a message {id, timestamp, type, content},
which is written again with its tool calls and their results as they come. Older files are one
JSON document with the list `messages`. Each call and each result is a message of its own here,
so that a line that comes again adds only what is new in it.
"""

from __future__ import annotations

import re
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
    moment_of,
    object_of,
    objects_of,
    plain,
    result_part,
    text_of,
    text_part,
    thinking_part,
)

_UNTRUSTED = re.compile(
    r"\s{0,8}<untrusted_context>[ \t]{0,4}\n?(.*?)\n?[ \t]{0,4}</untrusted_context>\s{0,8}",
    re.DOTALL,
)
_EXIT_STATUS = re.compile(r"^Exit Code: [1-9]\d{0,2}$", re.MULTILINE)
_GROUP = re.compile(r"^Process Group PGID: [^\n]{0,40}\n?", re.MULTILINE)
ROLES = {"user": "user", "gemini": "assistant"}
NOTES = frozenset({"info", "error", "warning"})
FAILED = frozenset({"error", "cancelled"})


def split(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Divide a document, or a line that sets all messages, into its lines."""
    whole = object_of(value, "$set") or value
    if "messages" not in whole:
        yield value
        return
    yield {name: each for name, each in whole.items() if name != "messages"}
    yield from objects_of(whole, "messages")


def read_line(
    line: Mapping[str, Any], context: TranscriptContext
) -> Iterable[ChatMessage]:
    kind = text_of(line, "type")
    if not kind and ("sessionId" in line or "$set" in line or "$rewindTo" in line):
        context.session_id = text_of(line, "sessionId") or context.session_id
        raise LineWithoutMessage(f"header {next(iter(line))}")
    if kind in NOTES:
        parts = list(_read_parts(line.get("content")))
        return [_message(line, "system", parts, meta=True)]
    if kind not in ROLES:
        raise UnknownLine(kind or "line")
    context.model = text_of(line, "model") or context.model
    return _read_turn(line, ROLES[kind])


def _read_turn(line: Mapping[str, Any], role: str) -> Iterator[ChatMessage]:
    parts = [
        thinking_part(_thought_text(each)) for each in objects_of(line, "thoughts")
    ]
    yield _message(line, role, [*parts, *_read_parts(line.get("content"))])
    for each in objects_of(line, "toolCalls"):
        yield from _read_call(line, each)


def _thought_text(value: Mapping[str, Any]) -> str:
    named = (text_of(value, "subject"), text_of(value, "description"))
    return ": ".join(filter(None, named))


def _read_parts(content: Any) -> Iterator[Part]:
    """Yield the parts of Gemini's own form: a text, or a list of texts and objects."""
    for each in content if isinstance(content, list) else [content]:
        if isinstance(each, str):
            yield text_part(each)
        elif isinstance(each, Mapping) and "text" in each:
            text = text_of(each, "text")
            yield (
                thinking_part(text) if each.get("thought") is True else text_part(text)
            )
        elif isinstance(each, Mapping) and each:
            data = object_of(each, "inlineData") or object_of(each, "fileData")
            kind = text_of(data, "mimeType") or str(next(iter(each)))
            yield attachment_part(kind, url=text_of(data, "fileUri"))


def _read_call(line: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[ChatMessage]:  # fmt: skip
    call_id, name = text_of(made, "id"), text_of(made, "name")
    moment = moment_of(made)
    yield _message(
        line, "assistant", [call_part(call_id, name, made.get("args"))], call_id, moment
    )
    if made.get("result") is None:
        return
    has_failed = text_of(made, "status") in FAILED
    content = unwrap(_result_text(made["result"]))
    has_failed = has_failed or _EXIT_STATUS.search(content) is not None
    part = result_part(call_id, content, is_error=has_failed, name=name)
    yield _message(line, "tool", [part], f"{call_id}:result", moment)


def unwrap(text: str) -> str:
    """Return a result without the element and the changing number that Gemini adds."""
    if wrapped := _UNTRUSTED.fullmatch(text):
        text = wrapped[1]
    return _GROUP.sub("", text)


def _result_text(value: Any) -> str:
    found = [_response_text(each) for each in value] if isinstance(value, list) else []
    return "\n".join(found) if found else plain(value)


def _response_text(part: Any) -> str:
    if not isinstance(part, Mapping):
        return plain(part)
    response = object_of(object_of(part, "functionResponse"), "response")
    for name in ("output", "error"):
        if name in response:
            return plain(response[name])
    return text_of(part, "text") or plain(dict(response or part))


def _message(
    line: Mapping[str, Any],
    role: str,
    parts: list[Part],
    name: str = "",
    moment: datetime | None = None,
    *,
    meta: bool = False,
) -> ChatMessage:
    line_id = text_of(line, "id")
    return ChatMessage(
        role,
        tuple(parts),
        external_id=":".join(filter(None, (line_id, name))) if line_id else "",
        created_at=moment or moment_of(line),
        metadata={KEY: {"meta": True}} if meta else {},
    )

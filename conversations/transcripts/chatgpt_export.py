"""Read a conversation of ChatGPT's export, `conversations.json`.

A conversation is {title, conversation_id, current_node, mapping}: a tree of messages by id.
Branches that the person left, by editing or asking again, are kept as a sidechain. The file
is a list of conversations; each is a session of its own, so that only the first one is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    moment_of_number,
    object_of,
    objects_of,
    result_part,
    text_of,
    text_part,
    thinking_part,
)

ROLES = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}
OTHER_CONVERSATION = "of another conversation, which needs a session of its own"
# Kinds of content that the person or the service set before the conversation.
SETTINGS = frozenset({"user_editable_context", "model_editable_context"})


def split(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Divide a conversation into its head and its messages, in the order of their times."""
    mapping = object_of(value, "mapping")
    if not mapping:
        yield value
        return
    session_id = text_of(value, "conversation_id") or text_of(value, "id")
    yield {"conversation": session_id}
    path = _path_to(text_of(value, "current_node"), mapping)
    nodes = {name: node for name, node in mapping.items() if isinstance(node, Mapping)}
    for name in sorted(nodes, key=lambda each: _time(nodes[each])):
        if nodes[name].get("message") is not None:
            yield {
                "conversation": session_id,
                "message": nodes[name]["message"],
                "parent": text_of(nodes[name], "parent"),
                "is_left": bool(path) and name not in path,
            }


def _path_to(name: str, mapping: Mapping[str, Any]) -> set[str]:
    """Return the names of the nodes from the root to a node."""
    path: set[str] = set()
    while name in mapping and name not in path:
        path.add(name)
        name = text_of(object_of(mapping, name), "parent")
    return path


def _time(node: Mapping[str, Any]) -> float:
    moment = moment_of_number(object_of(node, "message").get("create_time"))
    return moment.timestamp() if moment else 0.0


def read_line(
    line: Mapping[str, Any], context: TranscriptContext
) -> Iterable[ChatMessage]:
    if "conversation" not in line:
        raise UnknownLine(text_of(line, "type") or "line")
    session_id = text_of(line, "conversation")
    context.session_id = context.session_id or session_id
    if session_id != context.session_id:
        raise LineWithoutMessage(OTHER_CONVERSATION)
    if "message" not in line:
        raise LineWithoutMessage("header")
    return [_read_message(line, object_of(line, "message"))]


def _read_message(line: Mapping[str, Any], sent: Mapping[str, Any]) -> ChatMessage:
    role = ROLES.get(text_of(object_of(sent, "author"), "role"))
    if role is None:
        raise UnknownLine(text_of(object_of(sent, "author"), "role") or "author")
    content, metadata = object_of(sent, "content"), object_of(sent, "metadata")
    fields: dict[str, Any] = {}
    if line.get("is_left"):
        fields["sidechain"] = True
    is_hidden = metadata.get("is_visually_hidden_from_conversation") is True
    if is_hidden or text_of(content, "content_type") in SETTINGS:
        fields["meta"] = True
    if model := text_of(metadata, "model_slug"):
        fields["model"] = model
    return ChatMessage(
        role,
        tuple(_read_parts(line, sent, role, content)),
        external_id=text_of(sent, "id"),
        created_at=moment_of_number(sent.get("create_time")),
        metadata={KEY: fields} if fields else {},
    )


def _read_parts(
    line: Mapping[str, Any], sent: Mapping[str, Any], role: str, content: Mapping[str, Any]
) -> Iterator[Part]:  # fmt: skip
    texts = list(_read_content(content))
    said = "\n".join(part["text"] for part in texts if part["type"] == "text")
    recipient = text_of(sent, "recipient") or "all"
    if role == "tool":
        name = text_of(object_of(sent, "author"), "name")
        has_failed = text_of(content, "content_type") == "system_error"
        yield result_part(text_of(line, "parent"), said, is_error=has_failed, name=name)
        yield from (part for part in texts if part["type"] == "attachment")
    elif role == "assistant" and recipient != "all":
        yield call_part(text_of(sent, "id"), recipient, said)
    else:
        yield from texts


def _read_content(content: Mapping[str, Any]) -> Iterator[Part]:
    if text := text_of(content, "text") or text_of(content, "result"):
        yield text_part(text)
    parts = content.get("parts")
    for each in parts if isinstance(parts, list) else []:
        if isinstance(each, str):
            yield text_part(each)
        elif isinstance(each, Mapping) and "text" in each:
            yield text_part(text_of(each, "text"))
        elif isinstance(each, Mapping):
            yield attachment_part(text_of(each, "content_type") or "attachment")
    for each in objects_of(content, "thoughts"):
        named = (text_of(each, "summary"), text_of(each, "content"))
        yield thinking_part("\n".join(filter(None, named)))
    for name in ("user_profile", "user_instructions", "content"):
        if text := text_of(content, name):
            yield text_part(text)

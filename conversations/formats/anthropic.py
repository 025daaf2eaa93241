"""Anthropic's messages: a role, and a text or a list of blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conversations.formats.message import (
    UNREADABLE,
    ChatMessage,
    MalformedMessage,
    Part,
    content_text,
    have_same_content,
    read_role,
    read_text,
)
from conversations.formats.openai import without_bytes

# The key of `metadata` under which this format keeps what the parts do not say.
EXTRA = "anthropic"
# Blocks that only Anthropic's format has.
OWN_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "document")
OWN_BLOCK_PREFIXES = ("server_tool", "web_search_tool", "mcp_tool", "code_execution")


def has_shape(value: Mapping[str, Any]) -> bool:
    """Return whether a message has a block that only this format has."""
    content = value.get("content")
    if not isinstance(content, list):
        return False
    kinds = [block.get("type") for block in content if isinstance(block, dict)]
    if any(_is_own(kind) for kind in kinds):
        return True
    return any(
        "source" in block or "cache_control" in block
        for block in content
        if isinstance(block, dict)
    )


def _is_own(kind: Any) -> bool:
    return isinstance(kind, str) and (
        kind in OWN_BLOCKS or kind.startswith(OWN_BLOCK_PREFIXES)
    )


def read_message(value: Mapping[str, Any]) -> ChatMessage:
    """Read one message; raise MalformedMessage.

    A user message that holds results of tools only gets the role tool.
    """
    role = read_role(value)
    content = value["content"]
    blocks = (
        [{"type": "text", "text": content}] if isinstance(content, str) else content
    )
    parts = [_read_block(block, n) for n, block in enumerate(blocks)]
    extra = {k: v for k, v in value.items() if k not in ("role", "content")}
    is_result = bool(parts) and all(p["type"] == "tool_result" for p in parts)
    message = ChatMessage(
        "tool" if is_result and role == "user" else role, tuple(parts)
    )
    if [_write_block(part) for part in parts] != content:
        extra["content"] = without_bytes(content)
    if extra:
        message = ChatMessage(message.role, message.parts, metadata={EXTRA: extra})
    return message


def _read_block(block: Any, position: int) -> Part:
    kind = block.get("type") if isinstance(block, dict) else None
    try:
        if kind == "text":
            return {"type": "text", "text": read_text(block, "text")}
        if kind == "thinking":
            return {"type": "thinking", "text": read_text(block, "thinking")}
        if kind == "redacted_thinking":
            return {"type": "thinking", "text": ""}
        if kind == "tool_use" or (isinstance(kind, str) and kind == "server_tool_use"):
            return _read_call(block)
        if kind == "tool_result":
            return _read_result(block)
    except MalformedMessage as error:
        raise error.within(f"content.{position}") from None
    if isinstance(kind, str):
        return _read_attachment(kind, block)
    raise MalformedMessage(f"content.{position}.type", "Must be a text.")


def _read_call(block: Mapping[str, Any]) -> Part:
    return {
        "type": "tool_call",
        "id": read_text(block, "id"),
        "name": read_text(block, "name"),
        "arguments": block.get("input", {}),
    }


def _read_result(block: Mapping[str, Any]) -> Part:
    content = block.get("content", "")
    if isinstance(content, list):
        content = [_read_inner(inner, n) for n, inner in enumerate(content)]
    elif not isinstance(content, str):
        raise MalformedMessage("content", "Must be a text or a list of blocks.")
    return {
        "type": "tool_result",
        "id": read_text(block, "tool_use_id"),
        "name": "",
        "content": content,
        "is_error": bool(block.get("is_error", False)),
    }


def _read_inner(block: Any, position: int) -> Part:
    part = _read_block(block, position)
    if part["type"] in ("text", "attachment"):
        return part
    raise MalformedMessage(
        f"content.{position}.type", "A result holds text and attachments only."
    )


def _read_attachment(kind: str, block: Mapping[str, Any]) -> Part:
    source = block.get("source")
    source = source if isinstance(source, dict) else {}
    url, title = source.get("url", ""), block.get("title", "")
    media_type = source.get("media_type", kind)
    return {
        "type": "attachment",
        "media_type": media_type if isinstance(media_type, str) else kind,
        "name": title if isinstance(title, str) else "",
        "url": url if isinstance(url, str) else "",
    }


def write_message(message: ChatMessage) -> list[dict[str, Any]]:
    """Write one message; the role tool becomes the role user."""
    role = "user" if message.role == "tool" else message.role
    blocks = [_write_block(part) for part in message.parts]
    written = {"role": role, "content": blocks}
    extra = message.metadata.get(EXTRA)
    if not isinstance(extra, dict):
        return [written]
    original = {**written, **extra}
    return [original if _says(original, message) else written]


def _says(written: dict[str, Any], message: ChatMessage) -> bool:
    """Return whether a message, written with what was kept of the original, reads as itself.

    It does not if its parts were changed since, such as a shortened result.
    """
    try:
        found = read_message(written)
    except UNREADABLE:
        return False
    return found.role == message.role and have_same_content(found.parts, message.parts)


def _write_block(part: Part) -> dict[str, Any]:
    return WRITERS[part["type"]](part)


def _write_call(part: Part) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": part["id"],
        "name": part["name"],
        "input": part["arguments"],
    }


def _write_result(part: Part) -> dict[str, Any]:
    content = part["content"]
    if not isinstance(content, str):
        content = [_write_block(inner) for inner in content]
    written = {"type": "tool_result", "tool_use_id": part["id"], "content": content}
    return {**written, "is_error": True} if part["is_error"] else written


def _write_attachment(part: Part) -> dict[str, Any]:
    if part["url"] and part["media_type"].startswith("image"):
        return {"type": "image", "source": {"type": "url", "url": part["url"]}}
    return {"type": "text", "text": content_text([part])}


WRITERS = {
    "text": lambda part: {"type": "text", "text": part["text"]},
    "thinking": lambda part: {"type": "thinking", "thinking": part["text"]},
    "tool_call": _write_call,
    "tool_result": _write_result,
    "attachment": _write_attachment,
}

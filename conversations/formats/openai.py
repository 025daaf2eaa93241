"""OpenAI's chat messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings

from common.text import storable_json
from conversations.formats.message import (
    UNREADABLE,
    ChatMessage,
    MalformedMessage,
    Part,
    arguments_text,
    content_text,
    have_same_content,
    read_role,
    read_text,
)

# OpenAI's later name of the role system.
ROLE_NAMES = {"developer": "system", "function": "tool"}
# The key of `metadata` under which this format keeps what the parts do not say.
EXTRA = "openai"
# The key of the fields that a message did not have, though its parts give them back.
ABSENT = "absent"
TEXT_TYPES = ("text", "input_text", "output_text")


def read_message(value: Mapping[str, Any]) -> ChatMessage:
    """Read one message; raise MalformedMessage."""
    name = value.get("role")
    known = ROLE_NAMES.get(name, name) if isinstance(name, str) else name
    role = read_role({"role": known})
    if role == "tool":
        parts = [_read_result(value)]
    else:
        calls = _calls(value)
        parts = _read_content(value.get("content"))
        parts += [_read_call(call, n) for n, call in enumerate(calls)]
    extra = _extra_fields(value, _write(role, parts))
    metadata = {EXTRA: extra} if extra else {}
    return ChatMessage(role, tuple(parts), metadata=metadata)


def _extra_fields(
    value: Mapping[str, Any], written: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields of a message that its parts do not give back."""
    extra = {
        name: without_bytes(each)
        for name, each in value.items()
        if name not in written or written[name] != each
    }
    if absent := sorted(set(written) - set(value)):
        extra[ABSENT] = absent
    return extra


def _read_content(content: Any) -> list[Part]:
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        raise MalformedMessage("content", "Must be a text or a list of parts.")
    return [_read_part(part, n) for n, part in enumerate(content)]


def _read_part(value: Any, position: int) -> Part:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind in TEXT_TYPES and isinstance(value.get("text"), str):
        return {"type": "text", "text": value["text"]}
    if kind == "refusal" and isinstance(value.get("refusal"), str):
        return {"type": "text", "text": value["refusal"]}
    if isinstance(kind, str):
        return _attachment(kind, value)
    raise MalformedMessage(
        f"content.{position}.type", "Must be text, image_url, input_audio or file."
    )


def _attachment(kind: str, value: Mapping[str, Any]) -> Part:
    inner = value.get(kind)
    url = inner.get("url", "") if isinstance(inner, dict) else inner or ""
    name = inner.get("filename", "") if isinstance(inner, dict) else ""
    is_data = not isinstance(url, str) or url.startswith("data:")
    return {
        "type": "attachment",
        "media_type": _media_type(kind, url),
        "name": name if isinstance(name, str) else "",
        "url": "" if is_data else url,
    }


def _media_type(kind: str, url: Any) -> str:
    if isinstance(url, str) and url.startswith("data:"):
        return url[5:].split(";")[0].split(",")[0]
    return kind.split("_")[0]


def without_bytes(value: Any) -> Any:
    """Return JSON in which the bytes of attachments are replaced by their length."""
    if isinstance(value, str):
        return f"[{len(value)} characters of data]" if is_bytes(value) else value
    if isinstance(value, list):
        return [without_bytes(each) for each in value]
    if isinstance(value, dict):
        return {
            name: _data_size(each)
            if name in ("data", "file_data") and isinstance(each, str)
            else without_bytes(each)
            for name, each in value.items()
        }
    return value


def is_bytes(text: str) -> bool:
    return text.startswith("data:") and ";base64," in text[:200]


def _data_size(text: str) -> str:
    return f"[{len(text)} characters of data]"


def _calls(value: Mapping[str, Any]) -> list[Any]:
    calls = value.get("tool_calls") or []
    if not isinstance(calls, list):
        raise MalformedMessage("tool_calls", "Must be a list.")
    return calls


def _read_call(call: Any, position: int) -> Part:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise MalformedMessage(
            f"tool_calls.{position}.function.name", "Must be a text."
        )
    if not isinstance(call.get("id"), str):
        raise MalformedMessage(f"tool_calls.{position}.id", "Must be a text.")
    arguments = function.get("arguments", "")
    return {
        "type": "tool_call",
        "id": call["id"],
        "name": function["name"],
        "arguments": _read_arguments(arguments),
    }


def _read_arguments(arguments: Any) -> Any:
    """Return the value of arguments in JSON.

    A text that is no JSON, or whose value cannot be stored, stays a text.
    """
    if not isinstance(arguments, str):
        return arguments
    try:
        value = storable_json.parse(arguments, levels=settings.BODY_DEPTH)
        is_storable = storable_json.find_unstorable(value) is None
    except (ValueError, RecursionError):
        return arguments
    return value if is_storable else arguments


def _read_result(value: Mapping[str, Any]) -> Part:
    call_id = read_text(value, "tool_call_id")
    content = value.get("content")
    parts = _read_content(content)
    name = value.get("name")
    return {
        "type": "tool_result",
        "id": call_id,
        "name": name if isinstance(name, str) else "",
        "content": content if isinstance(content, str) else parts,
        "is_error": False,
    }


def write_message(message: ChatMessage) -> list[dict[str, Any]]:
    """Write a message; each result of a tool is a message of its own.

    What else a message of the role tool has becomes a message of the role user, because this
    format knows tool messages as results only.
    """
    results = [part for part in message.parts if part["type"] == "tool_result"]
    rest = [part for part in message.parts if part["type"] != "tool_result"]
    written = [_write("tool", [part]) for part in results]
    if rest or not results:
        role = "user" if message.role == "tool" else message.role
        written.append(_write(role, rest))
    extra = message.metadata.get(EXTRA)
    if isinstance(extra, dict):
        written[-1] = _restore(written[-1], extra, rest or results[-1:])
    return written


def _restore(
    written: dict[str, Any], extra: dict[str, Any], parts: Sequence[Part]
) -> dict[str, Any]:
    """Add what was kept of the original, if the message then still reads as these parts.

    Parts may have been changed since, such as a shortened result.
    """
    original = {**written, **extra}
    absent = original.pop(ABSENT, [])
    for name in absent if isinstance(absent, list) else []:
        original.pop(str(name), None)
    try:
        found = read_message(original)
    except UNREADABLE:
        return written
    is_same = have_same_content(found.parts, parts) and found.role == written["role"]
    return original if is_same else written


def _write(role: str, parts: list[Part]) -> dict[str, Any]:
    """Write parts of one role; a result of a tool is the only part of its message."""
    if role == "tool" and parts:
        (part,) = parts
        text = content_text(part["content"])
        return {"role": role, "tool_call_id": part["id"], "content": text}
    calls = [_write_call(part) for part in parts if part["type"] == "tool_call"]
    content = [_write_part(part) for part in parts if part["type"] in _WRITTEN]
    written: dict[str, Any] = {"role": role, "content": _shortest(content)}
    if calls:
        written["tool_calls"] = calls
    return written


_WRITTEN = ("text", "attachment")


def _shortest(content: list[dict[str, Any]]) -> Any:
    if not content:
        return None
    if len(content) == 1 and content[0]["type"] == "text":
        return content[0]["text"]
    return content


def _write_part(part: Part) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    if part["url"] and part["media_type"].startswith("image"):
        return {"type": "image_url", "image_url": {"url": part["url"]}}
    return {"type": "text", "text": content_text([part])}


def _write_call(part: Part) -> dict[str, Any]:
    function = {"name": part["name"], "arguments": arguments_text(part)}
    return {"id": part["id"], "type": "function", "function": function}

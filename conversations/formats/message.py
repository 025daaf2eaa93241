"""The product's own shape of a message: a role, and a list of parts.

A part is one of

- `{"type": "text", "text"}`
- `{"type": "thinking", "text"}`
- `{"type": "tool_call", "id", "name", "arguments"}`: the arguments are any JSON
- `{"type": "tool_result", "id", "name", "content", "is_error"}`: the content is a text, or a
  list of text parts and attachments
- `{"type": "attachment", "media_type", "name", "url"}`: never the bytes themselves
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

ROLES = ("system", "user", "assistant", "tool")
Part = dict[str, Any]


class MalformedMessage(ValueError):
    """The error of one field of a message; `path` names the field, as in `parts.0.type`."""

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        self.message = message
        super().__init__(f"{path}: {message}")

    def within(self, outer: str) -> MalformedMessage:
        """Return the same error with the path of the outer value before its path."""
        return MalformedMessage(f"{outer}.{self.path}", self.message)


@dataclass(frozen=True)
class ChatMessage:
    """One message, before it is stored.

    `metadata` keeps what a format says beside the words, so that the same format gives it
    back.
    """

    role: str
    parts: tuple[Part, ...]
    external_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None

    @property
    def text(self) -> str:
        return plain_text(self.parts)

    @property
    def call_ids(self) -> set[str]:
        """The ids of the tool calls in this message."""
        return ids_of(self.parts, "tool_call")

    @property
    def result_ids(self) -> set[str]:
        """The ids of the tool calls whose results this message has."""
        return ids_of(self.parts, "tool_result")


def ids_of(parts: Iterable[Part], kind: str) -> set[str]:
    return {part["id"] for part in parts if part["type"] == kind}


def plain_text(parts: Iterable[Part]) -> str:
    """Return the text of the parts, without the thinking.

    A call is its name and its arguments as JSON, a result is its content, and an attachment
    is its name in brackets.
    """
    texts = (TEXT_OF[part["type"]](part) for part in parts)
    return "\n".join(text for text in texts if text)


def arguments_text(part: Part) -> str:
    """Return the arguments of a call as JSON; a text that is no JSON stays as it is."""
    arguments = part["arguments"]
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False)


def _call_text(part: Part) -> str:
    return f"{part['name']} {arguments_text(part)}"


# What a caller put into the metadata of a message may have any shape.
UNREADABLE = (MalformedMessage, TypeError, ValueError, KeyError, AttributeError)


def have_same_content(left: Sequence[Part], right: Sequence[Part]) -> bool:
    """Return whether parts say the same; the name of a result stands with its call."""
    return list(map(_without_result_name, left)) == list(
        map(_without_result_name, right)
    )


def _without_result_name(part: Part) -> Part:
    return {**part, "name": ""} if part["type"] == "tool_result" else part


def content_text(content: str | Sequence[Part]) -> str:
    """Return the content of a tool result as text."""
    return content if isinstance(content, str) else plain_text(content)


def _attachment_text(part: Part) -> str:
    return f"[{part.get('name') or part.get('media_type') or 'attachment'}]"


TEXT_OF: dict[str, Callable[[Part], str]] = {
    "text": lambda part: part["text"],
    "thinking": lambda part: "",
    "tool_call": _call_text,
    "tool_result": lambda part: content_text(part["content"]),
    "attachment": _attachment_text,
}


def read_parts(values: Any) -> tuple[Part, ...]:
    """Check parts of the product's own shape and return them; raise MalformedMessage."""
    if not isinstance(values, list):
        raise MalformedMessage("parts", "Must be a list of objects.")
    return tuple(_read_part(value, f"parts.{n}") for n, value in enumerate(values))


def _read_part(value: Any, path: str) -> Part:
    kind = value.get("type") if isinstance(value, dict) else None
    reader = READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        known = ", ".join(READERS)
        raise MalformedMessage(f"{path}.type", f"Must be one of {known}.")
    try:
        part = reader(value)
    except MalformedMessage as error:
        raise error.within(path) from None
    unknown = sorted(set(value) - set(part) - {"type"})
    if unknown:
        raise MalformedMessage(f"{path}.{unknown[0]}", "There is no such field.")
    return {"type": kind, **part}


def read_role(value: Mapping[str, Any]) -> str:
    """Return the role of a message; raise MalformedMessage."""
    role = value.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise MalformedMessage("role", f"Must be one of {', '.join(ROLES)}.")
    return role


def read_text(value: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """Return a text of a message; raise MalformedMessage."""
    text = value.get(name, default)
    if not isinstance(text, str):
        raise MalformedMessage(name, "Must be a text.")
    return text


def _read_words(value: Mapping[str, Any]) -> Part:
    return {"text": read_text(value, "text")}


def _read_call(value: Mapping[str, Any]) -> Part:
    return {
        "id": read_text(value, "id"),
        "name": read_text(value, "name"),
        "arguments": value.get("arguments", {}),
    }


def _read_result(value: Mapping[str, Any]) -> Part:
    content = value.get("content", "")
    if isinstance(content, list):
        content = _read_content(content)
    elif not isinstance(content, str):
        raise MalformedMessage("content", "Must be a text or a list of parts.")
    is_error = value.get("is_error", False)
    if not isinstance(is_error, bool):
        raise MalformedMessage("is_error", "Must be true or false.")
    return {
        "id": read_text(value, "id"),
        "name": read_text(value, "name", ""),
        "content": content,
        "is_error": is_error,
    }


def _read_content(values: list[Any]) -> list[Part]:
    parts = [_read_part(value, f"content.{n}") for n, value in enumerate(values)]
    for n, part in enumerate(parts):
        if part["type"] not in ("text", "attachment"):
            raise MalformedMessage(
                f"content.{n}.type", "A result holds text and attachments only."
            )
    return parts


def _read_attachment(value: Mapping[str, Any]) -> Part:
    return {name: read_text(value, name, "") for name in ("media_type", "name", "url")}


READERS: dict[str, Callable[[Mapping[str, Any]], Part]] = {
    "text": _read_words,
    "thinking": _read_words,
    "tool_call": _read_call,
    "tool_result": _read_result,
    "attachment": _read_attachment,
}

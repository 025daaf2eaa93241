"""The messages of a conversation that mem0's `add` sends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common import errors
from mcp_server.mem0.refusals import UnsupportedOption
from memories.store.drafts import MAX_CONTENT

MAX_MESSAGES = 100
USER, ASSISTANT = "user", "assistant"
# Instructions to the model and results of tools: nothing that somebody said.
OTHER_ROLES = ("system", "developer", "tool")
KEYS = frozenset({"role", "content", "name"})


@dataclass(frozen=True)
class SpokenMessage:
    """What a user or an assistant said; `place` is the position in the request."""

    place: int
    role: str
    text: str
    name: str = ""


@dataclass(frozen=True)
class Conversation:
    """The messages with words of users and assistants, and notes about the others."""

    messages: Sequence[SpokenMessage]
    notes: Sequence[str]


def read_conversation(items: Sequence[Mapping[str, Any]]) -> Conversation:
    """Read the messages of a request; refuse it if none of them has words."""
    messages: list[SpokenMessage] = []
    notes: list[str] = []
    for place, item in enumerate(items):
        role = item.get("role")
        text = "" if role in OTHER_ROLES else _read_text(place, item)
        if role in OTHER_ROLES:
            notes.append(f"messages.{place}: what {role} says is not stored")
        elif role not in (USER, ASSISTANT):
            roles = ", ".join((USER, ASSISTANT, *OTHER_ROLES))
            raise _refuse(f"messages.{place}.role", f"It must be one of: {roles}.")
        elif not text.strip():
            notes.append(f"messages.{place}: it has no text, and is not stored")
        else:
            name = item.get("name")
            named = name if isinstance(name, str) else ""
            messages.append(SpokenMessage(place, role, text, named))
            notes += _note_others(place, item)
    if not messages:
        raise _refuse("messages", "No message of a user or an assistant has a text.")
    return Conversation(messages, notes)


def _note_others(place: int, item: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(item.get("name", ""), str | None):
        yield f"messages.{place}: a name that is no text is not stored"
    if others := sorted(name[:40] for name in item.keys() - KEYS):
        yield f"messages.{place}: {', '.join(others[:10])} is not stored"


def _read_text(place: int, item: Mapping[str, Any]) -> str:
    """Return the words of a message, which may have them in parts."""
    content = item.get("content")
    parts = content if isinstance(content, list) else [content]
    text = "\n".join(_read_part(place, part) for part in parts)
    if len(text) > MAX_CONTENT:
        message = f"Ensure it has at most {MAX_CONTENT} characters."
        raise _refuse(f"messages.{place}.content", message)
    return text


def _read_part(place: int, part: Any) -> str:
    if part is None or isinstance(part, str):
        return part or ""
    is_text = isinstance(part, dict) and part.get("type") == "text"
    if is_text and isinstance(part.get("text"), str):
        return str(part["text"])
    message = "Only text is stored: send a text, or parts of the type `text`."
    name = f"messages.{place}.content"
    raise UnsupportedOption(f"{name}: {message}", errors={name: [message]})


def _refuse(name: str, message: str) -> errors.Invalid:
    return errors.Invalid(f"{name}: {message}", errors={name: [message]})

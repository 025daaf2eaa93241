"""The text of messages that a summarizer reads: one paragraph a part, without thinking."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from conversations.formats.message import (
    TEXT_OF,
    Part,
    arguments_text,
    content_text,
)

MAX_ARGUMENTS = 300  # characters of a call's arguments
MAX_RESULT = 300  # characters of a tool's result
# The start of a line that would look as if another speaker began.
_ROLE_PREFIX = re.compile(r"^\[(?=(?:user|assistant|system|tool)\b)", re.MULTILINE)
SEPARATOR = "\n\n---\n\n"  # between two summaries (07a, L6)


class Speech(Protocol):
    """What a summarizer reads of a message."""

    @property
    def role(self) -> str: ...

    @property
    def parts(self) -> Sequence[Part]: ...


def text_of_messages(messages: Iterable[Speech], max_result: int = MAX_RESULT) -> str:
    """Return the messages as `[role] content`, with short calls and results."""
    lines = (
        _line(message.role, part, max_result)
        for message in messages
        for part in message.parts
    )
    return "\n".join(line for line in lines if line)


def text_of_summaries(contents: Iterable[str]) -> str:
    return SEPARATOR.join(contents)


def _line(role: str, part: Part, max_result: int) -> str:
    if part["type"] == "tool_call":
        arguments = _clip(arguments_text(part), MAX_ARGUMENTS)
        return f"[{role}:call {part['name']}] args: {arguments}"
    if part["type"] == "tool_result":
        return _result_line(part, max_result)
    text = escape_roles(TEXT_OF[part["type"]](part))
    return f"[{role}] {text}" if text.strip() else ""


def escape_roles(text: str) -> str:
    """Escape what looks like a speaker at the start of a line: `[user]` becomes `\\[user]`."""
    return _ROLE_PREFIX.sub(r"\\[", text)


def _result_line(part: Part, max_result: int) -> str:
    content = content_text(part["content"])
    name = part["name"] or "tool"
    start = escape_roles(_clip(content, max_result))
    if part["is_error"]:
        return f"[tool:{name}] error: {start}"
    return f"[tool:{name}] result({len(content)} chars): {start}"


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}..."

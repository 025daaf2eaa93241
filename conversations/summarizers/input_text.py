"""The text of messages that a summarizer reads: one paragraph a part, without thinking."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from conversations.formats.harness import is_of_harness, read_refusal, split_harness
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

    @property
    def metadata(self) -> Mapping[str, Any]: ...


def text_of_messages(messages: Iterable[Speech], max_result: int = MAX_RESULT) -> str:
    """Return the messages as `[role] content`, with short calls and results."""
    lines = (
        line
        for message in messages
        for part in message.parts
        for line in _lines(message, part, max_result)
    )
    return "\n".join(lines)


def text_of_summaries(contents: Iterable[str]) -> str:
    return SEPARATOR.join(contents)


def _lines(message: Speech, part: Part, max_result: int) -> Iterator[str]:
    if part["type"] == "tool_call":
        arguments = _clip(arguments_text(part), MAX_ARGUMENTS)
        yield f"[{message.role}:call {part['name']}] args: {arguments}"
    elif part["type"] == "tool_result":
        yield _result_line(part, max_result)
    else:
        yield from _text_lines(message, TEXT_OF[part["type"]](part), max_result)


def _text_lines(message: Speech, text: str, max_result: int) -> Iterator[str]:
    """Yield what was said, and what the harness of an agent added as a line of the system."""
    words, added = (text, "") if message.role != "user" else split_harness(text)
    if is_of_harness(message.metadata):
        words, added = "", text
    if words.strip():
        yield f"[{message.role}] {escape_roles(words)}"
    if added.strip():
        yield f"[system] {escape_roles(_clip(added.strip(), max_result))}"


def escape_roles(text: str) -> str:
    """Escape what looks like a speaker at the start of a line: `[user]` becomes `\\[user]`."""
    return _ROLE_PREFIX.sub(r"\\[", text)


def _result_line(part: Part, max_result: int) -> str:
    content = content_text(part["content"])
    if words := read_refusal(content, is_error=part["is_error"]):
        return f"[user] {escape_roles(words)}"
    name = part["name"] or "tool"
    start = escape_roles(_clip(content, max_result))
    if part["is_error"]:
        return f"[tool:{name}] error: {start}"
    return f"[tool:{name}] result({len(content)} chars): {start}"


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}..."

"""Read messages of any known format, and write them in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conversations.formats import anthropic, openai
from conversations.formats.message import (
    ChatMessage,
    MalformedMessage,
    read_parts,
    read_role,
)

FORMATS = ("messages", "openai", "anthropic")
OWN_FIELDS = {"role", "content", "parts"}


def read_messages(values: Sequence[Any]) -> list[ChatMessage]:
    """Read messages; each may have its own format. Raise MalformedMessage.

    The path of an error begins with the position of its message.
    """
    messages = []
    names: dict[str, str] = {}
    for position, value in enumerate(values):
        try:
            message = _read_message(value)
        except MalformedMessage as error:
            raise error.within(str(position)) from None
        messages.append(name_results(message, names))
    return messages


def _read_message(value: Any) -> ChatMessage:
    if not isinstance(value, dict):
        raise MalformedMessage("role", "Must be an object with a role.")
    if "parts" in value:
        return _read_own(value)
    if anthropic.has_shape(value):
        return anthropic.read_message(value)
    return openai.read_message(value)


def _read_own(value: dict[str, Any]) -> ChatMessage:
    unknown = sorted(set(value) - OWN_FIELDS)
    if unknown:
        raise MalformedMessage(unknown[0], "There is no such field beside `parts`.")
    return ChatMessage(read_role(value), read_parts(value["parts"]))


def name_results(message: ChatMessage, names: dict[str, str]) -> ChatMessage:
    """Name each result after its call; `names` collects the calls of earlier messages.

    The formats of OpenAI and Anthropic name a result by the id of its call only.
    """
    for part in message.parts:
        if part["type"] == "tool_call":
            names[part["id"]] = part["name"]
        elif part["type"] == "tool_result" and not part["name"]:
            part["name"] = names.get(part["id"], "")
    return message


def write_messages(messages: Sequence[ChatMessage], name: str) -> list[dict[str, Any]]:
    """Write messages in the format `openai` or `anthropic`; the format is lossless for
    what it can say.
    """
    writers = {"openai": openai.write_message, "anthropic": anthropic.write_message}
    return [written for each in messages for written in writers[name](each)]

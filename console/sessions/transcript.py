"""Render the messages of a session for its transcript."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from common.admin import panels
from common.admin.panels import short_text, time_tag
from conversations.formats.message import Part, content_text
from conversations.models import Message

MAX_TEXT = 6_000  # characters of one part; the record of the message shows more
PAGE = 50  # messages of one page


@dataclass(frozen=True)
class PartView:
    """One part of a message; a part with a `label` is folded under it."""

    body: SafeString
    label: SafeString | str = ""


@dataclass(frozen=True)
class MessageView:
    """A message as the transcript shows it; `leaf` is the id of its summary."""

    row: Message
    at: SafeString
    parts: list[PartView]
    leaf: str


def view_messages(
    rows: Iterable[Message], summary_ids: Mapping[Any, str]
) -> list[MessageView]:
    """Render messages; `summary_ids` maps the key of each leaf to its `sum_` id."""
    return [
        MessageView(
            row,
            time_tag(row.created_at),
            [PART_VIEWS[part["type"]](part) for part in row.parts],
            summary_ids.get(row.leaf_id, ""),
        )
        for row in rows
    ]


def _text_part(part: Part) -> PartView:
    return PartView(panels.text_block(part["text"], MAX_TEXT))


def _thinking_part(part: Part) -> PartView:
    return PartView(panels.text_block(part["text"], MAX_TEXT), _label("Thinking"))


def _call_part(part: Part) -> PartView:
    arguments = json.dumps(part["arguments"], indent=2, ensure_ascii=False)
    body = panels.text_block(arguments, MAX_TEXT)
    named = filter(None, (f"Calls {part['name']}", _first_text(part["arguments"])))
    return PartView(body, _label(": ".join(named)))


def _first_text(arguments: Any) -> str:
    """Return the first argument that is a text, such as a command or a path."""
    values = arguments.values() if isinstance(arguments, dict) else ()
    return next((value for value in values if isinstance(value, str)), "")


def _result_part(part: Part) -> PartView:
    text = content_text(part["content"])
    kind = "Error" if part["is_error"] else "Result"
    label = f"{kind} of {part['name'] or 'the tool'}, {len(text):,} characters"
    return PartView(panels.text_block(text, MAX_TEXT), _label(label))


def _attachment_part(part: Part) -> PartView:
    """Name an attachment; its URL is a text, because it leads to somebody's server."""
    named = filter(None, (part["name"], part["media_type"], part["url"]))
    return PartView(panels.text_block("\n".join(named), MAX_TEXT), _label("Attachment"))


def _label(text: str) -> SafeString:
    return short_text(text)


PART_VIEWS = {
    "text": _text_part,
    "thinking": _thinking_part,
    "tool_call": _call_part,
    "tool_result": _result_part,
    "attachment": _attachment_part,
}

"""Read the fields of a line, whose values may have any type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from common.text import storable_json
from conversations.formats.message import Part

# The times that the clock of a sender may tell; another time is none.
EARLIEST, MAX_SKEW = datetime(1970, 1, 1, tzinfo=UTC), timedelta(days=1)


def text_of(line: Mapping[str, Any], name: str) -> str:
    """Return a text of a line; "" if the line has no text there."""
    value = line.get(name)
    return value if isinstance(value, str) else ""


def object_of(line: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object of a line; {} if the line has no object there."""
    value = line.get(name)
    return value if isinstance(value, Mapping) else {}


def objects_of(line: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the objects in a list of a line; what is no object is left out."""
    value = line.get(name)
    found = value if isinstance(value, list) else []
    return [each for each in found if isinstance(each, Mapping)]


def moment_of(line: Mapping[str, Any], name: str = "timestamp") -> datetime | None:
    """Return the time that a text of a line writes with its zone."""
    try:
        moment = datetime.fromisoformat(text_of(line, name))
        return _sane(moment.astimezone(UTC)) if moment.tzinfo else None
    # A zone may lead out of the years that there are.
    except (ValueError, OverflowError):
        return None


def moment_of_milliseconds(value: object) -> datetime | None:
    """Return the time of a number of milliseconds since 1970."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return _sane(datetime.fromtimestamp(value / 1000, UTC))
    except (ValueError, OverflowError, OSError):
        return None


def _sane(moment: datetime) -> datetime | None:
    return moment if EARLIEST <= moment < timezone.now() + MAX_SKEW else None


def read_arguments(value: Any) -> Any:
    """Return the arguments of a call; JSON in a text is read if it can be stored."""
    if not isinstance(value, str):
        return {} if value is None else value
    return read_json(value)


def read_json(text: str) -> Any:
    """Return the JSON value of a text; a text that cannot be stored as JSON stays a text."""
    try:
        parsed = storable_json.parse(text, levels=settings.BODY_DEPTH)
        return storable_json.make_storable(parsed).value
    except (ValueError, RecursionError):
        return text


def plain(value: Any) -> str:
    """Return a result as text: a text as it is, and another value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def text_part(text: str) -> Part:
    return {"type": "text", "text": text}


def thinking_part(text: str) -> Part:
    return {"type": "thinking", "text": text}


def call_part(call_id: str, name: str, arguments: Any) -> Part:
    return {
        "type": "tool_call",
        "id": call_id,
        "name": name,
        "arguments": read_arguments(arguments),
    }


def result_part(call_id: str, content: str, *, is_error: bool, name: str = "") -> Part:
    return {
        "type": "tool_result",
        "id": call_id,
        "name": name,
        "content": content,
        "is_error": is_error,
    }


def attachment_part(media_type: str, *, name: str = "", url: str = "") -> Part:
    """Return an attachment without its bytes."""
    kept = "" if url.startswith("data:") else url
    return {"type": "attachment", "media_type": media_type, "name": name, "url": kept}

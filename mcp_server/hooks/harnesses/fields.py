"""Read the fields of an event, whatever types a harness sends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from common.text import storable_json

MAX_LEVELS = 64  # lists and objects in each other in what a tool printed
Payload = Mapping[str, Any]


def text(payload: Payload, *names: str) -> str:
    """Return the first of the fields that is a text, or an empty text."""
    values = (payload.get(name) for name in names)
    return next((each for each in values if isinstance(each, str) and each), "")


def mapping(payload: Payload, name: str) -> Payload:
    value = payload.get(name)
    return value if isinstance(value, Mapping) else {}


def result_text(value: Any) -> str:
    """Return what a tool printed: a text, the streams of a shell, parts, or JSON.

    A value of more than MAX_LEVELS levels gives an empty text.
    """
    return "" if storable_json.is_deeper(value, MAX_LEVELS) else _text_of(value)


def _text_of(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text_of, value)))
    if isinstance(value, Mapping):
        names = ("stdout", "stderr", "output", "text", "content", "llmContent")
        parts = [_text_of(value[name]) for name in names if value.get(name)]
        if parts:
            return "\n".join(parts)
    return json.dumps(value, ensure_ascii=False)

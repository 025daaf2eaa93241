"""Read the fields of an event, whatever types a harness sends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Payload = Mapping[str, Any]


def text(payload: Payload, *names: str) -> str:
    """Return the first of the fields that is a text, or an empty text."""
    values = (payload.get(name) for name in names)
    return next((each for each in values if isinstance(each, str) and each), "")


def mapping(payload: Payload, name: str) -> Payload:
    value = payload.get(name)
    return value if isinstance(value, Mapping) else {}


def result_text(value: Any) -> str:
    """Return what a tool printed: a text, the streams of a shell, parts, or JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list):
        return "\n".join(filter(None, map(result_text, value)))
    if isinstance(value, Mapping):
        names = ("stdout", "stderr", "output", "text", "content", "llmContent")
        parts = [result_text(value[name]) for name in names if value.get(name)]
        if parts:
            return "\n".join(parts)
    return json.dumps(value, ensure_ascii=False)

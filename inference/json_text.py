"""JSON in what a language model wrote, which may be more than JSON."""

from __future__ import annotations

import json
import re
from typing import Any

# A model that thinks aloud writes braces before its answer.
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
# Places looked at: each can cost as much as the rest of the text is long.
MAX_STARTS = 50
# What PostgreSQL cannot hold: NUL, and halves of UTF-16 pairs.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def first_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in a text, with every string made storable."""
    text = _THOUGHTS.sub("", text)
    decoder, start = json.JSONDecoder(), text.find("{")
    for _ in range(MAX_STARTS):
        if start < 0:
            return None
        try:
            found: dict[str, Any] = make_storable(decoder.raw_decode(text, start)[0])
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
        else:
            return found
    return None


def make_storable(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [make_storable(item) for item in value]
    if isinstance(value, dict):
        return {
            make_storable(name): make_storable(item) for name, item in value.items()
        }
    return value

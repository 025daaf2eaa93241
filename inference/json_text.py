"""Find JSON in the answer of a language model, which may hold more than JSON."""

from __future__ import annotations

import json
import re
from typing import Any

# The thoughts of a reasoning model come before its answer and may hold braces.
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
# The number of braces that are tried. Each brace can cost a pass over the rest of the text.
MAX_STARTS = 50
# Characters that PostgreSQL cannot hold: NUL, and halves of UTF-16 pairs.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def first_object(text: str) -> dict[str, Any] | None:
    """Return the first JSON object in a text; PostgreSQL can store all its strings."""
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

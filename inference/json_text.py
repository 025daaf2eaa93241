"""Find JSON in the answer of a language model, which may hold more than JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

# The end of a reasoning model's thoughts, which come before its answer and may hold objects.
# Some servers leave the beginning out.
_THOUGHTS_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
# The number of braces that are tried in vain. Each can cost a pass over the rest of the text.
MAX_STARTS = 200
# Characters that PostgreSQL cannot hold: NUL, and halves of UTF-16 pairs.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def last_object(text: str, keys: Collection[str]) -> dict[str, Any] | None:
    """Return the last whole JSON object that has the keys; PostgreSQL can store its strings.

    Before it may stand thoughts, an example, or a fence; it may be in a list. An answer among
    the thoughts counts only if there is none after them. If no object has all keys, the
    last one that has most of them is returned, or an empty one: its errors say what it lacks.
    """
    *thoughts, said = _THOUGHTS_END.split(text)
    for part in (said, *reversed(thoughts)):
        found = [(len(set(keys) & each.keys()), each) for each in _objects(part)]
        known = max((count for count, _ in found), default=0)
        if known or any(not each for _, each in found):
            return [each for count, each in found if count == known][-1]
    return None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the whole objects of a text, in order, without those within them."""
    decoder, start, in_vain = json.JSONDecoder(strict=False), text.find("{"), 0
    while start >= 0 and in_vain < MAX_STARTS:
        try:
            value, end = decoder.raw_decode(text, start)
            yield make_storable(value)
        except (ValueError, RecursionError):
            in_vain, end = in_vain + 1, start + 1
        start = text.find("{", end)


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

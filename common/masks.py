"""What takes a text's place when it is purged: `[purged]` and an HMAC of it.

The same text has the same mask everywhere, so that what is compared stays equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.utils.crypto import salted_hmac

MASKED = re.compile(r"\[purged\] [0-9a-f]{32}")
# Ids and moments tell nothing by themselves, and hold what is left together.
CODE = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
)
# Fields of JSON whose own keys come from outside: they are emptied, not walked.
FREE = frozenset(
    ["metadata", "value", "provenance", "arguments", "steps", "tool_usage"]
)


def hmac_of(text: str) -> str:
    """128 bits that only who knows SECRET_KEY can make of a text."""
    return salted_hmac("memory.purge", text, algorithm="sha256").hexdigest()[:32]


def masked(text: str) -> str:
    """What stands in a text's place; nothing and a mask stay as they are."""
    if not text or is_masked(text):
        return text
    return f"[purged] {hmac_of(text)}"


def is_masked(text: str) -> bool:
    return bool(MASKED.fullmatch(text))


# How a column is purged: its value in, what takes its place out.

Way = Callable[[Any], Any]


def text(value: str) -> str:
    return masked(value)


def name(value: str) -> str:
    """A text that may be an id of the service, which stays."""
    return value if CODE.fullmatch(value) else masked(value)


def emptied(value: Any) -> Any:
    """Nothing of the same kind, for lists and trees that outsiders shape."""
    if isinstance(value, list):
        return []
    return {} if isinstance(value, dict) else None


def tree(*kept: str) -> Way:
    """JSON in the service's own shape: its texts go, values of `kept` keys stay."""

    def way(value: Any) -> Any:
        if isinstance(value, str):
            return name(value)
        if isinstance(value, list):
            return [way(item) for item in value]
        if isinstance(value, dict):
            return {key: _under(key, item) for key, item in value.items()}
        return value

    def _under(key: str, value: Any) -> Any:
        if key in FREE:
            return emptied(value)
        return value if key in kept else way(value)

    return way


def columns(ways: Mapping[str, Way]) -> Way:
    """JSON of {column: value}: each as the column itself is purged."""
    return lambda value: {
        column: ways[column](old) if column in ways and old is not None else old
        for column, old in value.items()
    }


def lost(old: Any, new: Any) -> Iterator[str]:
    """The texts that a value had and what took its place has not."""
    if old == new:
        return
    if isinstance(old, str):
        yield old
    elif isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        for key, value in old.items():
            yield from lost(value, new[key])
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for before, after in zip(old, new, strict=True):
            yield from lost(before, after)
    elif isinstance(old, dict):
        yield from lost([*old.keys(), *old.values()], None)
    elif isinstance(old, list):
        for item in old:
            yield from lost(item, None)

"""What takes a text's place when it is purged: `[purged]` and an HMAC of it.

The same text has the same mask everywhere, so that what is compared stays equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.utils.crypto import salted_hmac

REDACTED = re.compile(r"\[purged\] [0-9a-f]{32}")
# Ids and moments tell nothing by themselves, and hold what is left together.
ID_OR_TIME = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
)
# Fields of JSON whose own keys come from outside: they are emptied, not walked.
FREE_FORM_KEYS = frozenset(
    ["metadata", "value", "provenance", "arguments", "steps", "tool_usage"]
)


def hmac_of(text: str) -> str:
    """128 bits that only who knows SECRET_KEY can make of a text."""
    return salted_hmac("memory.purge", text, algorithm="sha256").hexdigest()[:32]


def redact(text: str) -> str:
    """What stands in a text's place; nothing and a mask stay as they are."""
    if not text or is_redacted(text):
        return text
    return f"[purged] {hmac_of(text)}"


def is_redacted(text: str) -> bool:
    return bool(REDACTED.fullmatch(text))


# How a column is purged: its value in, what takes its place out.

Redactor = Callable[[Any], Any]


def redact_text(value: str) -> str:
    return redact(value)


def redact_name(value: str) -> str:
    """A text that may be an id of the service, which stays."""
    return value if ID_OR_TIME.fullmatch(value) else redact(value)


def empty(value: Any) -> Any:
    """Nothing of the same kind, for lists and trees that outsiders shape."""
    if isinstance(value, list):
        return []
    return {} if isinstance(value, dict) else None


def json_redactor(*kept: str) -> Redactor:
    """JSON in the service's own shape: its texts go, values of `kept` keys stay."""

    def way(value: Any) -> Any:
        if isinstance(value, str):
            return redact_name(value)
        if isinstance(value, list):
            return [way(item) for item in value]
        if isinstance(value, dict):
            return {key: _under(key, item) for key, item in value.items()}
        return value

    def _under(key: str, value: Any) -> Any:
        if key in FREE_FORM_KEYS:
            return empty(value)
        return value if key in kept else way(value)

    return way


def columns_redactor(ways: Mapping[str, Redactor]) -> Redactor:
    """JSON of {column: value}: each as the column itself is purged."""
    return lambda value: {
        column: ways[column](old) if column in ways and old is not None else old
        for column, old in value.items()
    }


def removed_texts(old: Any, new: Any) -> Iterator[str]:
    """The texts that a value had and what took its place has not."""
    if old == new:
        return
    if isinstance(old, str):
        yield old
    elif isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        for key, value in old.items():
            yield from removed_texts(value, new[key])
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for before, after in zip(old, new, strict=True):
            yield from removed_texts(before, after)
    elif isinstance(old, dict):
        yield from removed_texts([*old.keys(), *old.values()], None)
    elif isinstance(old, list):
        for item in old:
            yield from removed_texts(item, None)

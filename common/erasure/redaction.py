"""Replace a purged text by `[purged]` and its HMAC.

A text has the same replacement everywhere, so equal values stay equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.utils.crypto import salted_hmac

MARK = "[purged] "  # the start of a redacted text
REDACTED = re.compile(r"\[purged\] [0-9a-f]{32}")
# Ids and times hold no personal text. They link the rows that remain after a purge.
ID_OR_TIME = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
)
# Fields of JSON whose keys come from clients. These fields are emptied, not searched.
FREE_FORM_KEYS = frozenset(
    [
        "metadata",
        "value",
        "provenance",
        "compaction",
        "arguments",
        "steps",
        "tool_usage",
    ]
)

# A function that takes the value of a column and returns its replacement.
Redactor = Callable[[Any], Any]


def hmac_of(text: str) -> str:
    """Return 128 bits that nobody can compute from a text without SECRET_KEY."""
    return salted_hmac("memory.purge", text, algorithm="sha256").hexdigest()[:32]


def redact(text: str) -> str:
    """Return the replacement of a text; return an empty or redacted text unchanged."""
    if not text or is_redacted(text):
        return text
    return f"{MARK}{hmac_of(text)}"


def is_redacted(text: str) -> bool:
    return bool(REDACTED.fullmatch(text))


def redact_name(value: str) -> str:
    """Redact a text, unless it is an id or a time that the service wrote."""
    return value if ID_OR_TIME.fullmatch(value) else redact(value)


def name_variants(value: str) -> list[str]:
    """Return a name as it was written, and as an earlier purge masked it."""
    return [value, redact(value), redact_name(value)]


def empty(value: Any) -> Any:
    """Return an empty value of the given value's type; it redacts clients' lists and objects."""
    if isinstance(value, list):
        return []
    return {} if isinstance(value, dict) else None


def json_redactor(*plain_keys: str) -> Redactor:
    """Redact every text of JSON in the service's own shape, except under `plain_keys`."""

    def redact_json(value: Any) -> Any:
        if isinstance(value, str):
            return redact_name(value)
        if isinstance(value, list):
            return [redact_json(item) for item in value]
        if isinstance(value, dict):
            return {key: _redact_item(key, item) for key, item in value.items()}
        return value

    def _redact_item(key: str, value: Any) -> Any:
        if key in FREE_FORM_KEYS:
            return empty(value)
        return value if key in plain_keys else redact_json(value)

    return redact_json


def columns_redactor(redactors: Mapping[str, Redactor]) -> Redactor:
    """Redact JSON of the form {column: value}, each value with the redactor of its column."""
    return lambda value: {
        column: redactors[column](old)
        if column in redactors and old is not None
        else old
        for column, old in value.items()
    }


def removed_texts(old: Any, new: Any) -> Iterator[str]:
    """Iterate over the texts of a value that the value's replacement no longer contains."""
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

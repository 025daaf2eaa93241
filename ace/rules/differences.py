"""What changed between the arguments of two calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ace.rules.task import ToolCall, canonical

# A call with more leaves is a document, not a set of arguments.
MAX_LEAVES = 200
MAX_QUOTE = 600


class Missing:
    """Stands for an argument that was not passed; None can be."""


MISSING: Final = Missing()


@dataclass(frozen=True, eq=False)
class Change:
    """One leaf; `key` is its own name, without the names above it."""

    path: str
    key: str
    before: Any
    after: Any


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """The leaves that differ, in the order of their paths."""
    old, new = leaves(before), leaves(after)
    found = []
    for path in sorted({**old, **new}):
        one, other = old.get(path, MISSING), new.get(path, MISSING)
        if type(one) is not type(other) or one != other:
            found.append(Change(path, _own_name(path), one, other))
    return found


def leaves(value: Any) -> dict[str, Any]:
    """Scalars by dotted path; an empty list or object is a leaf of its own."""
    return dict(_taken(_leaves(value, ""), MAX_LEAVES))


def located(call: ToolCall, change: Change | None, value: Any) -> tuple[int, int]:
    """Where `"key": value` stands in the call's arguments, else the whole of them."""
    text = call.arguments_text
    if change is not None and not isinstance(value, Missing):
        key = re.escape(json.dumps(change.key, ensure_ascii=False))
        told = re.escape(canonical(value))
        found = re.search(rf"{key}\s*:\s*{told}", text) or re.search(told, text)
        if found:
            return found.start(), min(found.end(), found.start() + MAX_QUOTE)
    return 0, min(len(text), MAX_QUOTE)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key in value:
            yield from _leaves(value[key], f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}.{index}")
    else:
        yield path, value


def _taken(pairs: Iterator[tuple[str, Any]], limit: int) -> Iterator[tuple[str, Any]]:
    for _, pair in zip(range(limit), pairs, strict=False):
        yield pair


def _own_name(path: str) -> str:
    names = [name for name in path.split(".") if not name.isdecimal()]
    return names[-1] if names else path

"""List the leaves of the nested arguments of a tool call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# A call with more leaves is a document, not a set of arguments.
MAX_LEAVES = 200


def leaves(value: Any) -> dict[str, Any]:
    """Return a dict from dotted path to scalar. An empty list or object is a leaf too."""
    return dict(_take(_leaves(value, ""), MAX_LEAVES))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key in value:
            yield from _leaves(value[key], f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}.{index}")
    else:
        yield path, value


def _take(pairs: Iterator[tuple[str, Any]], limit: int) -> Iterator[tuple[str, Any]]:
    for _, pair in zip(range(limit), pairs, strict=False):
        yield pair

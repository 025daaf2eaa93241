"""A pydantic model as the JSON Schema that servers enforce strictly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel

# Not in the strict subset of every server; pydantic checks them all the same.
UNSUPPORTED_KEYWORDS = {
    "title",
    "default",
    "minLength",
    "maxLength",
    "pattern",
    "format",
}


def one_of(values: Sequence[str]) -> Any:
    """The type of a field that may hold these values only, known as late as now."""
    literal: Any = Literal
    return literal[tuple(values)]


def strict_schema(shape: type[BaseModel]) -> dict[str, Any]:
    """Every property required, no other one allowed."""
    schema: dict[str, Any] = _strict(shape.model_json_schema())
    return schema


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {
        name: _strict(value)
        for name, value in node.items()
        if _is_supported(name, value)
    }
    if isinstance(kept.get("properties"), dict):
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept


def _is_supported(name: str, value: Any) -> bool:
    """A property may be called `title`; then its value is a schema of its own."""
    return name not in UNSUPPORTED_KEYWORDS or isinstance(value, dict)

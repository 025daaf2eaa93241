"""Turn a pydantic model into the strict JSON Schema that model servers enforce."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel

# Not every server supports these in strict schemas; pydantic checks them anyway.
UNSUPPORTED_KEYWORDS = {
    "title",
    "default",
    "minLength",
    "maxLength",
    "pattern",
    "format",
}


def one_of(values: Sequence[str]) -> Any:
    """Return the type of a field that holds one of these values, which are known at run time."""
    literal: Any = Literal
    return literal[tuple(values)]


def strict_schema(shape: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a model: every property is required, and no other is allowed."""
    schema: dict[str, Any] = _strict(shape.model_json_schema())
    return schema


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    supported = {
        name: _strict(value)
        for name, value in node.items()
        if _is_supported(name, value)
    }
    if isinstance(supported.get("properties"), dict):
        supported |= {
            "required": list(supported["properties"]),
            "additionalProperties": False,
        }
    return supported


def _is_supported(name: str, value: Any) -> bool:
    """Return whether to keep a key; the key `title` is kept if it is a property's name."""
    return name not in UNSUPPORTED_KEYWORDS or isinstance(value, dict)

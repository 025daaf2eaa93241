"""A pydantic model as the JSON Schema that servers enforce strictly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel

# Not in the strict subset of every server; pydantic checks them all the same.
LEFT_OUT = {"title", "default", "minLength", "maxLength", "pattern", "format"}


def one_of(values: Sequence[str]) -> Any:
    """The type of a field that may hold these values only, known as late as now."""
    literal: Any = Literal
    return literal[tuple(values)]


def strict(shape: type[BaseModel]) -> dict[str, Any]:
    """Every property required, no other one allowed."""
    schema: dict[str, Any] = _strict(shape.model_json_schema())
    return schema


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {
        name: _strict(value) for name, value in node.items() if _is_kept(name, value)
    }
    if isinstance(kept.get("properties"), dict):
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept


def _is_kept(name: str, value: Any) -> bool:
    """A property may be called `title`; then its value is a schema of its own."""
    return name not in LEFT_OUT or isinstance(value, dict)

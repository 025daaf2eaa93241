"""Read the arguments of a tool from the JSON schema that an MCP server describes them with."""

from __future__ import annotations

from typing import Any

from agents.tools.call_arguments import PYTHON_TYPES
from agents.tools.tool import ToolArgument
from common.text.quote import safe_line

MAX_DESCRIPTION = 500  # characters of what an argument means


def read_arguments(schema: dict[str, Any]) -> tuple[ToolArgument, ...]:
    """Return the arguments of a JSON schema; the server itself checks what is inside them."""
    properties = schema.get("properties")
    required = schema.get("required")
    if not isinstance(properties, dict):
        return ()
    names = required if isinstance(required, list) else []
    return tuple(
        _read_argument(name, part if isinstance(part, dict) else {}, name in names)
        for name, part in properties.items()
    )


def _read_argument(name: str, part: dict[str, Any], is_required: bool) -> ToolArgument:
    description = part.get("description")
    return ToolArgument(
        name=name,
        type=_type_of(part),
        description=safe_line(description, MAX_DESCRIPTION)
        if isinstance(description, str)
        else "",
        required=is_required,
    )


def _type_of(part: dict[str, Any]) -> str:
    """Return the only type of a schema other than null; "" if there are several."""
    choices = part.get("anyOf") or part.get("oneOf") or [part]
    found: set[str] = set()
    for choice in choices if isinstance(choices, list) else []:
        kind = choice.get("type") if isinstance(choice, dict) else None
        found |= set(map(str, kind)) if isinstance(kind, list) else {str(kind)}
    found.discard("null")
    return found.pop() if len(found) == 1 and found <= PYTHON_TYPES.keys() else ""

"""Check the arguments of a call, which a model wrote, against what the tool declares."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agents.tools.tool import ToolArgument, ToolFailure
from common.text import plain_text, storable_json

# {JSON Schema type: the Python types of its values}. In Python, a boolean is an integer.
PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}
MAX_ARGUMENTS_LENGTH = 100_000  # characters of the arguments of a call as JSON


def check_arguments(
    arguments: Mapping[str, Any], declared: Sequence[ToolArgument]
) -> dict[str, Any]:
    """Return the arguments of a call; raise ToolFailure, which names every fault.

    Null stands for an optional argument that the call leaves out.
    """
    arguments = _make_storable(arguments)
    known = {argument.name: argument for argument in declared}
    required = {argument.name for argument in declared if argument.required}
    sent = {
        name: value
        for name, value in arguments.items()
        if value is not None or name not in known or name in required
    }
    faults = [f"unknown argument {clip(name)}" for name in sent if name not in known]
    faults += [f"{name} is missing" for name in known if name in required - sent.keys()]
    faults += [
        f"{name} must be of type {known[name].type}, not {_type_of(value)}"
        for name, value in sent.items()
        if name in known and not has_type(value, known[name].type)
    ]
    if faults:
        listed = ", ".join(_describe(argument) for argument in declared) or "none"
        raise ToolFailure(
            f"Wrong arguments: {'; '.join(faults)}. Arguments of the tool: {listed}."
        )
    return sent


def _make_storable(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Replace characters that UTF-8 lacks; refuse what is too long, too deep or no JSON."""
    try:
        length = len(json.dumps(arguments, ensure_ascii=False, allow_nan=False))
        storable: dict[str, Any] = storable_json.make_storable(dict(arguments)).value
    except RecursionError:
        raise ToolFailure("The arguments are nested too deeply.") from None
    except ValueError as error:
        raise ToolFailure(f"The arguments are no valid JSON: {error}.") from None
    if length > MAX_ARGUMENTS_LENGTH:
        raise ToolFailure(
            f"The arguments are longer than {MAX_ARGUMENTS_LENGTH:,} characters; send less."
        )
    return storable


def has_type(value: Any, name: str) -> bool:
    """Return whether a value has a JSON Schema type; an unknown type allows any value."""
    if name not in PYTHON_TYPES:
        return True
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, PYTHON_TYPES[name])


def clip(name: str) -> str:
    return plain_text.clip(name, 64)


def _describe(argument: ToolArgument) -> str:
    kind = argument.type if argument.required else f"{argument.type}, optional"
    return f"{argument.name} ({kind})"


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    matching = (name for name in PYTHON_TYPES if has_type(value, name))
    return next(matching, "unknown")

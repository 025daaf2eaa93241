"""Describe the tools of a run for the endpoint's function calling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.protocols.function_calls import FunctionNames
from agents.tools.tool import Tool, ToolArgument
from common.text.quote import safe_line

MAX_DESCRIPTION = 1_024  # characters that hosted endpoints take


def describe_functions(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return the tools in the form of OpenAI's chat completions API."""
    names = FunctionNames([tool.name for tool in tools])
    return [
        {
            "type": "function",
            "function": {
                "name": names.function_name(tool.name),
                "description": _describe(tool.description),
                "parameters": _parameters(tool.arguments),
            },
        }
        for tool in tools
    ]


def _parameters(arguments: Sequence[ToolArgument]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {each.name: _schema_of(each) for each in arguments},
        "required": [each.name for each in arguments if each.required],
    }


def _schema_of(argument: ToolArgument) -> dict[str, Any]:
    """Return the JSON Schema of an argument; one with several types names none."""
    schema: dict[str, Any] = {"description": _describe(argument.description)}
    if argument.type:
        schema["type"] = argument.type
    if argument.type == "array":
        schema["items"] = {}  # hosted endpoints refuse an array without it
    return schema


def _describe(description: str) -> str:
    """Return a description that gives no orders, because an MCP server may write it."""
    return safe_line(description, MAX_DESCRIPTION)

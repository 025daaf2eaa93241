"""Describe the tools of a run for the endpoint's function calling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.protocols.function_calls import FunctionNames
from agents.tools.tool import Tool, ToolArgument


def describe_functions(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return the tools in the form of OpenAI's chat completions API."""
    names = FunctionNames([tool.name for tool in tools])
    return [
        {
            "type": "function",
            "function": {
                "name": names.function_name(tool.name),
                "description": tool.description,
                "parameters": _parameters(tool.arguments),
            },
        }
        for tool in tools
    ]


def _parameters(arguments: Sequence[ToolArgument]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            each.name: {"type": each.type, "description": each.description}
            for each in arguments
        },
        "required": [each.name for each in arguments if each.required],
    }

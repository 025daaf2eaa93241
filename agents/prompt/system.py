"""The system text of a prompt: who the agent is, what it keeps, and how it says what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from agents.prompt.templates import fill_template
from agents.tools.tool import Tool, ToolArgument
from common.text.quote import json_string, name_or_string
from projects.options import TemplateName

# `none` is for callers that run their own loop, and say themselves how a model acts.
PromptProtocol = Literal["text", "tools", "none"]
MAX_DESCRIPTION = 2_000  # characters of the description of a tool or an argument


def write_protocol(
    protocol: PromptProtocol,
    tools: Sequence[Tool],
    templates: Mapping[TemplateName, str],
) -> str:
    """Return how the model says what it does, and with `text` the tools that it may use."""
    names = ", ".join(name_or_string(tool.name) for tool in tools) or "none"
    if protocol == "text":
        described = "\n".join(map(_describe_tool, tools))
        return fill_template(
            "protocol_text", templates, tool_names=names, tools=described
        )
    if protocol == "tools":
        return fill_template("protocol_tools", templates, tool_names=names)
    return ""


def _describe_tool(tool: Tool) -> str:
    """Return the lines of a tool; its descriptions are data, because MCP servers write them."""
    head = f"- {tool.name}: {json_string(tool.description, MAX_DESCRIPTION)}"
    return "\n".join([head, *map(_describe_argument, tool.arguments)])


def _describe_argument(argument: ToolArgument) -> str:
    kind = argument.type if argument.required else f"{argument.type}, optional"
    head = f"    {name_or_string(argument.name)} ({kind})"
    if not argument.description:
        return head
    return f"{head}: {json_string(argument.description, MAX_DESCRIPTION)}"

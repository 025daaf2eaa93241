"""Describe a server for the API: its definition, and the tools that it offers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from agents.models import AgentTool
from agents.tools.definitions import FIELDS
from agents.tools.mcp_tool import McpTool
from agents.tools.server_listing import read_listing


def describe_tool(row: AgentTool) -> dict[str, Any]:
    """Return what every member of the project may read of a server."""
    return {
        "name": row.name,
        **{name: getattr(row, name) for name in FIELDS},
        "listing": _describe_listing(row),
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def _describe_listing(row: AgentTool) -> dict[str, Any] | None:
    listing = read_listing(row)
    if listing is None:
        return None
    tools = [McpTool(row, offered) for offered in listing.tools]
    return {
        "tools": [_describe_offered(tool) for tool in tools],
        "listed_at": listing.listed_at,
        "error": listing.error,
    }


def _describe_offered(tool: McpTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "server_name": tool.offered.name,
        "description": tool.description,
        "arguments": [asdict(argument) for argument in tool.arguments],
        "asks_first": tool.asks_first,
    }

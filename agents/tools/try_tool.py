"""Let an owner call a tool once, to see what agents would see."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.models import AgentTool
from agents.tools.definitions import find_tool
from agents.tools.http_tool import HttpTool
from agents.tools.mcp_tool import McpTool
from agents.tools.server_listing import read_listing, refresh_listings
from agents.tools.tool import Tool, ToolContext, ToolFailure
from audit import trail
from common.caller import Caller, Role
from common.ids import uuid7
from projects.models import Project


@dataclass(frozen=True)
class TriedCall:
    """What a call of a tool said; `is_error` if the tool failed."""

    observation: str
    is_error: bool
    asks_first: bool
    took_ms: int


def try_tool(
    project: Project,
    name: str,
    arguments: Mapping[str, Any],
    caller: Caller,
    *,
    server_tool: str = "",
) -> TriedCall:
    """Call a tool once, also one that is disabled or asks first. Raises NotFound.

    `server_tool` names a tool of an MCP server, which is asked anew what it offers.
    """
    caller.require_administrator(
        Role.OWNER, project.pk, action="try the tools of agents"
    )
    row = find_tool(project, name, caller)
    trail.record(
        caller,
        "agent_tool.try",
        project_id=project.pk,
        object_type="agent_tool",
        object_id=row.pk,
        name=row.name,
    )
    started = time.perf_counter()
    asks_first, is_error = False, False
    try:
        tool = _open(project, row, server_tool)
        asks_first = tool.asks_first
        observation = tool.call(dict(arguments), _context(project, caller))
    except ToolFailure as failure:
        observation, is_error = f"Error: {failure}", True
    took_ms = round((time.perf_counter() - started) * 1000)
    return TriedCall(observation, is_error, asks_first, took_ms)


def _open(project: Project, row: AgentTool, server_tool: str) -> Tool:
    if row.kind == AgentTool.ToolKind.HTTP:
        return HttpTool(row)
    refresh_listings(project, [row])
    listing = read_listing(row)
    if listing is None or listing.error:
        raise ToolFailure(listing.error if listing else "The server was not asked.")
    for offered in listing.tools:
        if offered.name == server_tool:
            return McpTool(row, offered)
    names = ", ".join(offered.name for offered in listing.tools) or "none"
    raise ToolFailure(f"Name one of the server's tools in `tool`: {names}.")


def _context(project: Project, caller: Caller) -> ToolContext:
    return ToolContext(
        project=project,
        caller=caller,
        user_id="",
        run_id=uuid7(),
        session=None,
        has_memory=False,
    )

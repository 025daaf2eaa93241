"""A tool that an MCP server offers."""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync

from agents.models import AgentTool
from agents.tools import mcp_client
from agents.tools.call_arguments import check_arguments
from agents.tools.header_secrets import fill_headers, read_values
from agents.tools.mcp_client import OfferedTool, ServerAccess
from agents.tools.observation import build_observation
from agents.tools.tool import ToolArgument, ToolContext, ToolFailure
from common.text.quote import safe_line

MAX_NAME = 64  # characters of a name that endpoints accept for a function
_ODD = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True)
class McpTool:
    """A tool of a server, named `SERVER_TOOL` so that two servers do not collide.

    What the server says of itself is data: it is one line in which prompt injections are
    defused.
    """

    row: AgentTool
    offered: OfferedTool

    @functools.cached_property
    def name(self) -> str:
        return compose_name(self.row.name, self.offered.name)

    @functools.cached_property
    def description(self) -> str:
        return safe_line(self.offered.description, mcp_client.MAX_DESCRIPTION)

    @property
    def arguments(self) -> tuple[ToolArgument, ...]:
        return self.offered.arguments

    @property
    def asks_first(self) -> bool:
        return (
            not self.offered.is_read_only and self.row.confirm != AgentTool.Confirm.AUTO
        )

    def call(self, arguments: dict[str, Any], context: ToolContext) -> str:
        """Call the tool once in a session of its own; raise ToolFailure."""
        checked = check_arguments(arguments, self.arguments)
        server, values = open_access(self.row)
        try:
            answer = async_to_sync(mcp_client.call_tool)(
                server, self.offered.name, checked
            )
        except ToolFailure as failure:
            # The server's own words are in it.
            raise ToolFailure(
                build_observation(str(failure), values, context.project)
            ) from failure
        text = build_observation(answer.text, values, context.project)
        if answer.is_error:
            raise ToolFailure(text or "The tool failed and did not say why.")
        return text or "The tool answered without a text."


def open_access(row: AgentTool) -> tuple[ServerAccess, dict[str, str]]:
    """Return how to reach a server, and the secrets in its headers; raise ToolFailure."""
    values = read_values(row.headers, row.url)
    headers = fill_headers(row.headers, values)
    return ServerAccess(row.url, headers, row.timeout), values


def compose_name(server: str, tool: str) -> str:
    """Return a name that endpoints accept; one that had to change ends with a hash."""
    plain = f"{server}_{tool}"
    name = _ODD.sub("_", plain)
    if name == plain and len(name) <= MAX_NAME:
        return name
    digest = hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: MAX_NAME - 9]}_{digest}"

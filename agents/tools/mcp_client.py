"""Sessions with MCP servers over streamable HTTP; each call opens one and closes it again."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import structlog

from agents.tools.input_schema import read_arguments
from agents.tools.tool import ToolArgument, ToolFailure
from agents.tools.tool_hosts import RULES
from common.outbound import OutboundFailed, OutboundRefused
from common.text import plain_text

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult, Tool

MAX_ANSWER_BYTES = 4 * 1024 * 1024  # of one answer of a server
MAX_TOOLS = 100  # of a server
MAX_PAGES = 20  # of a server's list of tools
MAX_DESCRIPTION = 2_000  # characters of a description
MAX_SCHEMA = 20_000  # characters of the JSON schema of the arguments


ARGUMENT_NAME = re.compile(r"[!-~]{1,64}")

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ServerAccess:
    """Where a server is, and how it is asked; `timeout` is in seconds."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 30.0


@dataclass(frozen=True)
class OfferedTool:
    """A tool as its server describes it. The texts are data from outside."""

    name: str
    description: str
    arguments: tuple[ToolArgument, ...]
    is_read_only: bool

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_dict(cls, value: Mapping[str, Any]) -> OfferedTool:
        arguments = tuple(ToolArgument(**fields) for fields in value["arguments"])
        return cls(**{**value, "arguments": arguments})


@dataclass(frozen=True)
class ServerAnswer:
    """The text of a result; `is_error` if the tool says that it failed."""

    text: str
    is_error: bool


async def list_tools(server: ServerAccess) -> list[OfferedTool]:
    """Return what a server offers, at most MAX_TOOLS; raise ToolFailure."""
    async with _connect(server) as client:
        found: list[Tool] = []
        cursor = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if cursor is None or len(found) >= MAX_TOOLS:
                break
    return [_describe(tool) for tool in found[:MAX_TOOLS] if _is_usable(tool)]


async def call_tool(
    server: ServerAccess, name: str, arguments: dict[str, Any]
) -> ServerAnswer:
    """Call a tool of a server once; raise ToolFailure if the server does not answer."""
    async with _connect(server) as client:
        result = await client.call_tool(name, arguments)
    return ServerAnswer(_text_of(result), result.is_error)


@asynccontextmanager
async def _connect(server: ServerAccess) -> AsyncIterator[Client]:
    """Open a session, and close it again within the server's timeout."""
    # Imported here, because both take long to load.
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    from common import pinned_transport

    transport = None
    try:
        # Unlike asyncio's, this limit also holds for the request that ends the session.
        with anyio.fail_after(server.timeout):
            transport = await pinned_transport.open_transport(
                server.url, RULES, max_bytes=MAX_ANSWER_BYTES
            )
            async with (
                pinned_transport.build_client(
                    transport, timeout=server.timeout, headers=server.headers
                ) as http_client,
                Client(
                    streamable_http_client(server.url, http_client=http_client)
                ) as client,
            ):
                yield client
    except (OutboundRefused, OutboundFailed) as error:
        raise ToolFailure(str(error)) from error
    except TimeoutError as error:
        raise ToolFailure(
            f"The MCP server did not answer within {server.timeout:g} s."
        ) from error
    except Exception as error:
        # The client raises errors of many kinds, alone or in groups.
        log.info("mcp_failed", error=type(error).__name__)
        raise ToolFailure(_explain(error, transport)) from error


def _explain(error: BaseException, transport: Any) -> str:
    """Return what went wrong, without a text that may repeat a header."""
    from mcp.shared.exceptions import MCPError

    if transport is not None and transport.problem is not None:
        return str(transport.problem)
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ToolFailure | OutboundFailed | OutboundRefused):
        return str(error)
    if isinstance(error, MCPError):
        message = plain_text.clip(error.error.message, 500)
        return f"The MCP server answered with the error {error.error.code}: {message}"
    return f"The MCP server did not answer as the protocol demands: {type(error).__name__}."


def _is_usable(tool: Tool) -> bool:
    """Return whether the schema is not too long, and names are names and not sentences."""
    properties = tool.input_schema.get("properties") or {}
    return (
        bool(ARGUMENT_NAME.fullmatch(tool.name))
        and len(json.dumps(tool.input_schema)) <= MAX_SCHEMA
        and isinstance(properties, dict)
        and all(map(ARGUMENT_NAME.fullmatch, properties))
    )


def _describe(tool: Tool) -> OfferedTool:
    hints = tool.annotations
    return OfferedTool(
        name=tool.name,
        description=plain_text.clip(tool.description or "", MAX_DESCRIPTION),
        arguments=read_arguments(tool.input_schema),
        is_read_only=bool(hints and hints.read_only_hint),
    )


def _text_of(result: CallToolResult) -> str:
    """Return the texts of a result; its structure as JSON if it has no text."""
    parts = [_text_of_block(block) for block in result.content]
    text = "\n".join(part for part in parts if part)
    if text or result.structured_content is None:
        return text
    return json.dumps(result.structured_content, ensure_ascii=False)


def _text_of_block(block: Any) -> str:
    """Return the text of a block, or say what is left out."""
    if block.type == "text":
        return str(block.text)
    if block.type == "resource" and hasattr(block.resource, "text"):
        return str(block.resource.text)
    if block.type == "resource_link":
        return f"[resource {block.uri}]"
    return f"[{block.type} left out]"

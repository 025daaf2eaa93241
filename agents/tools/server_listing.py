"""What MCP servers offer, kept for some minutes so that not every run asks them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from asgiref.sync import async_to_sync
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from agents.models import AgentTool
from agents.tools import mcp_client
from agents.tools.header_secrets import mask_values
from agents.tools.mcp_client import OfferedTool, ServerAccess
from agents.tools.mcp_tool import open_access
from agents.tools.tool import ToolFailure
from common.secret_masks import mask_value
from common.text import storable_json

FRESH = timedelta(minutes=5)
# A server that fails would otherwise delay the start of every run.
RETRY = timedelta(minutes=1)
MAX_WAIT = 10.0  # seconds that a run waits for the lists of its servers


@dataclass(frozen=True)
class ServerListing:
    """What a server offered at `listed_at`, or why it did not answer then.

    A listing with an error keeps the tools of the one before it.
    """

    tools: tuple[OfferedTool, ...]
    listed_at: datetime
    error: str = ""

    @property
    def is_fresh(self) -> bool:
        return timezone.now() - self.listed_at < (RETRY if self.error else FRESH)

    def to_dict(self) -> dict[str, Any]:
        return {
            "tools": [tool.to_dict() for tool in self.tools],
            "listed_at": self.listed_at.isoformat(),
            "error": self.error,
        }


def read_listing(row: AgentTool) -> ServerListing | None:
    """Return the stored listing of a server; None if it was never asked."""
    stored = row.listing
    listed_at = parse_datetime(stored["listed_at"]) if stored else None
    if not stored or listed_at is None:
        return None
    tools = tuple(map(OfferedTool.of_dict, stored["tools"]))
    return ServerListing(tools, listed_at, stored["error"])


def refresh_listings(rows: Sequence[AgentTool]) -> None:
    """Ask servers what they offer, all at the same time, and store what they say.

    A server that does not answer keeps its earlier tools, and its listing says why.
    """
    opened = [_open(row) for row in rows]
    answers = async_to_sync(_list_all)([access for access, _ in opened])
    for row, (_, values), answer in zip(rows, opened, answers, strict=True):
        _store(row, answer, values)


def _open(row: AgentTool) -> tuple[ServerAccess | str, dict[str, str]]:
    """Return how to reach a server, or why it cannot be reached."""
    try:
        server, values = open_access(row)
    except ToolFailure as failure:
        return str(failure), {}
    return replace(server, timeout=min(server.timeout, MAX_WAIT)), values


async def _list_all(
    servers: Sequence[ServerAccess | str],
) -> list[list[OfferedTool] | str]:
    return list(await asyncio.gather(*map(_list_one, servers)))


async def _list_one(server: ServerAccess | str) -> list[OfferedTool] | str:
    if isinstance(server, str):
        return server
    try:
        return await mcp_client.list_tools(server)
    except ToolFailure as failure:
        return str(failure)


def _store(
    row: AgentTool, answer: list[OfferedTool] | str, values: Mapping[str, str]
) -> None:
    """Store a listing without secrets, unless an owner has changed the server meanwhile."""
    before = read_listing(row)
    if isinstance(answer, str):
        listing = ServerListing(before.tools if before else (), timezone.now(), answer)
    else:
        listing = ServerListing(tuple(answer), timezone.now())
    row.listing = _mask(listing.to_dict(), values)
    same = AgentTool.objects.filter(pk=row.pk, updated_at=row.updated_at)
    same.update(listing=row.listing)


def _mask(listing: dict[str, Any], values: Mapping[str, str]) -> Any:
    """Mask the secrets that a server sent back, and secrets of others."""
    storable = storable_json.make_storable(listing).value
    as_json = {name: json.dumps(value)[1:-1] for name, value in values.items()}
    masked, _ = mask_value(json.loads(mask_values(json.dumps(storable), as_json)))
    return masked

"""Choose the tools of a run by its group and state, as agents without memory do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agents.models import AgentTool
from agents.tools.definitions import DEFAULT_GROUPS
from agents.tools.mcp_tool import McpTool
from agents.tools.memory_tools import TIER_TOOLS
from agents.tools.server_listing import read_listing, refresh_listings
from agents.tools.session_tool import build_session_tool
from agents.tools.tool import Tool
from common.caller import Caller, Role
from conversations.models import Session
from projects.models import Project

EVERY = "*"
NO_STATE = "undefined"  # the state of a request that names none


def choose_tools(
    project: Project,
    caller: Caller,
    *,
    group: Sequence[str],
    state: str,
    has_memory: bool,
    session: Session | None = None,
) -> list[Tool]:
    """Return the tools of a run, each name once.

    A tool is offered if it shares a group with the request, whose groups are `default` if it
    names none, and if it has the state of the request, which is `undefined` if it names
    none. `*` is every group or state. The memory tools come first; the session's own tool
    needs `session`. A server whose listing is old is asked again, outside of a transaction.
    """
    caller.require(Role.VIEWER, project.pk)
    rows = AgentTool.objects.visible_to(caller, project).filter(is_enabled=True)
    servers = [row for row in rows if is_offered(row, group, state)]
    old = [row for row in servers if not _is_fresh(row)]
    if old:
        refresh_listings(old)
    memory = _memory_tools(project, caller, session) if has_memory else ()
    return _each_name_once([*memory, *_server_tools(servers)])


def is_offered(row: AgentTool, group: Sequence[str], state: str) -> bool:
    """Return whether a request with these groups and this state is offered the tool."""
    asked = {*group} or {*DEFAULT_GROUPS}
    own = {*row.groups}
    has_group = EVERY in asked or EVERY in own or bool(asked & own)
    return has_group and (EVERY in row.states or (state or NO_STATE) in row.states)


def _memory_tools(
    project: Project, caller: Caller, session: Session | None
) -> Iterator[Tool]:
    yield from TIER_TOOLS
    if session is not None:
        yield build_session_tool(project, session, caller)


def _is_fresh(row: AgentTool) -> bool:
    listing = read_listing(row)
    return listing is not None and listing.is_fresh


def _server_tools(rows: Iterable[AgentTool]) -> Iterator[Tool]:
    for row in rows:
        listing = read_listing(row)
        for offered in listing.tools if listing else ():
            yield McpTool(row, offered)


def _each_name_once(tools: Iterable[Tool]) -> list[Tool]:
    """Keep the first tool of each name, in any case of its letters."""
    found: dict[str, Tool] = {}
    for tool in tools:
        found.setdefault(tool.name.lower(), tool)
    return list(found.values())

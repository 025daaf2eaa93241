"""Define the MCP servers whose tools the agents of a project may call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agents.models import AgentTool
from agents.tools.header_secrets import PLACEHOLDER, VARIABLE
from agents.tools.tool_hosts import RULES
from audit import trail
from common import errors, outbound
from common.caller import Caller, Role
from common.db import write
from common.outbound import OutboundRefused
from common.text import secrets
from projects.models import Project

MAX_TOOLS = 100  # of a project
MAX_HEADERS = 20
DEFAULT_GROUPS = ["default"]
DEFAULT_STATES = ["*"]
TOOL_NAME = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
# The client itself sets these headers, from the address and the body.
CLIENT_HEADERS = frozenset(
    [
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_MASK = re.compile(r"\[secret:[\w-]+")
FIELDS = (
    "description",
    "url",
    "headers",
    "timeout",
    "groups",
    "states",
    "confirm",
    "is_enabled",
)


class ToolExists(errors.StateConflict):
    """The project has a tool of this name; change it with PUT, or choose another name."""

    code = "tool_exists"


class TooManyTools(errors.StateConflict):
    """The project has as many tools as it may have; delete one."""

    code = "too_many_tools"


def find_tool(project: Project, name: str, caller: Caller) -> AgentTool:
    """Return the row of a tool; raise NotFound."""
    rows = AgentTool.objects.visible_to(caller, project)
    tool: AgentTool | None = rows.filter(name=name).first()
    if tool is None:
        raise errors.NotFound(f"The project has no tool {name}.")
    return tool


@write
def create_tool(
    project: Project, name: str, fields: Mapping[str, Any], caller: Caller
) -> AgentTool:
    """Define a new tool. Raises Invalid, ToolExists, TooManyTools."""
    _require_owner(project, caller)
    if AgentTool.objects.filter(project=project, name=name).exists():
        raise ToolExists
    return _save(AgentTool(project=project, name=name), fields, caller)


@write
def put_tool(
    project: Project, name: str, fields: Mapping[str, Any], caller: Caller
) -> AgentTool:
    """Define a tool, or replace its definition. Raises Invalid, TooManyTools."""
    _require_owner(project, caller)
    rows = AgentTool.objects.select_for_update(no_key=True)
    tool = rows.filter(project=project, name=name).first()
    return _save(tool or AgentTool(project=project, name=name), fields, caller)


@write
def delete_tool(project: Project, name: str, caller: Caller) -> None:
    """Delete a tool. Raises NotFound."""
    _require_owner(project, caller)
    tool = find_tool(project, name, caller)
    _audit(caller, "agent_tool.delete", tool, before=_state_of(tool), after=None)
    tool.delete()


def _require_owner(project: Project, caller: Caller) -> None:
    caller.require_administrator(
        Role.OWNER, project.pk, action="change the tools of agents"
    )


def _save(tool: AgentTool, fields: Mapping[str, Any], caller: Caller) -> AgentTool:
    is_new = tool._state.adding
    before = None if is_new else _state_of(tool)
    for name in FIELDS:
        setattr(tool, name, fields[name])
    refuse_faults(tool)
    _refuse_names_that_meet(tool)
    rows = AgentTool.objects.filter(project=tool.project_id)
    if is_new and rows.count() >= MAX_TOOLS:
        raise TooManyTools
    tool.listing = None  # another address may offer other tools
    tool.save()
    _audit(caller, "agent_tool.put", tool, before=before, after=_state_of(tool))
    return tool


def _refuse_names_that_meet(tool: AgentTool) -> None:
    """Refuse a server whose tools could have the names of another server's tools.

    A tool of a server has the server's name and `_` in front, so the tool `b_c` of the server
    `a` would have the name of the tool `c` of the server `a_b`.
    """
    servers = AgentTool.objects.filter(project=tool.project_id)
    servers = servers.exclude(name=tool.name)  # the same name is another refusal
    for other in servers.values_list("name", flat=True):
        shorter, longer = sorted((f"{tool.name}_", f"{other}_"), key=len)
        if longer.casefold().startswith(shorter.casefold()):
            message = f"Its tools could have the names of those of {other}; rename it."
            raise errors.Invalid(errors={"name": [message]})


def _state_of(tool: AgentTool) -> dict[str, Any]:
    return {name: getattr(tool, name) for name in FIELDS}


def _audit(
    caller: Caller,
    verb: str,
    tool: AgentTool,
    *,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
) -> None:
    trail.record(
        caller,
        verb,
        project_id=tool.project_id,
        object_type="agent_tool",
        object_id=tool.pk,
        before=before,
        after=after,
        name=tool.name,
    )


def refuse_faults(tool: AgentTool) -> None:
    """Raise Invalid, which names every fault of a definition and how to mend it."""
    faults: dict[str, list[str]] = {}
    for field, message in find_faults(tool):
        faults.setdefault(field, []).append(message)
    if faults:
        raise errors.Invalid(errors=faults)


def find_faults(tool: AgentTool) -> Iterator[tuple[str, str]]:
    """Yield the field and the message of each fault."""
    if not re.fullmatch(TOOL_NAME, tool.name):
        yield "name", "A letter, then letters, digits, `_` and `-`, at most 64."
    yield from _find_url_faults(tool.url)
    yield from _find_header_faults(tool.headers)


def _find_url_faults(url: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an address; names of hosts are looked up in each call."""
    if not outbound.is_http_url(url):
        yield "url", "An http or https address with a host and without a password."
        return
    if "{" in url or "}" in url:
        yield "url", "The address of an MCP server has no placeholders."
        return
    if "#" in url:
        yield "url", "Servers do not get what follows a `#`; leave it out."
    if not secrets.is_clean(url):
        yield "url", "The address holds a secret; send it in a header instead."
    try:
        outbound.refuse_written_address(url, RULES)
    except OutboundRefused as refused:
        yield "url", str(refused)


def _find_header_faults(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if len(headers) > MAX_HEADERS:
        yield "headers", f"At most {MAX_HEADERS} headers."
    for name, value in headers.items():
        field = f"headers.{name}"
        if not _HEADER_NAME.fullmatch(name):
            yield field, "This is no name of a header."
        elif name.lower() in CLIENT_HEADERS:
            yield field, "The service itself sets this header; leave it out."
        if not value.isprintable() or not value.isascii():
            yield field, "A header is one line of ASCII text."
        elif not _names_variables_only(value):
            yield field, "A placeholder is `${AGENT_TOOL_NAME}`, in capital letters."
        elif _MASK.search(value) or not secrets.is_clean(value):
            yield (
                field,
                "The header holds a secret. The operator of the service sets it as "
                "AGENT_TOOL_NAME; write `${AGENT_TOOL_NAME}` in its place.",
            )


def _names_variables_only(value: str) -> bool:
    """Return whether each placeholder names a variable that is meant for tools."""
    are_variables = map(VARIABLE.fullmatch, PLACEHOLDER.findall(value))
    return all(are_variables) and "${" not in PLACEHOLDER.sub("", value)

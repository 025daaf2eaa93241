"""Define the tools of a project: check a definition, store it, delete it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from agents.models import AgentTool
from agents.tools.call_arguments import PYTHON_TYPES
from agents.tools.http_tool import BODY_METHODS, METHODS
from agents.tools.placeholders import (
    NAME,
    find_argument_names,
    find_secret_names,
    has_stray_braces,
)
from agents.tools.tool_hosts import HTTP_RULES, MCP_RULES
from audit import trail
from common import errors, outbound
from common.caller import Caller, Role
from common.db import write
from common.outbound import OutboundRefused
from common.text import secrets
from projects.models import Project

MAX_TOOLS = 100  # of a project
MAX_HEADERS = 20
MAX_URL = 2_000  # characters of an address with its placeholders
DEFAULT_GROUPS = ["default"]
DEFAULT_STATES = ["*"]
TOOL_NAME = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
# The names of the memory tools, in any case of their letters.
RESERVED_NAMES = frozenset(["retrievefacts", "recallepisodes", "storefact", "memory"])
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
    "kind",
    "description",
    "arguments",
    "definition",
    "timeout",
    "groups",
    "states",
    "confirm",
    "is_enabled",
)
# {kind: the fields of its definition}
DEFINITION_FIELDS = {
    "http": ("method", "url", "query", "headers", "body"),
    "mcp": ("url", "headers"),
}


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
    tool.definition = {
        name: value for name, value in fields["definition"].items() if value is not None
    }
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
    if tool.kind != AgentTool.ToolKind.MCP:
        return
    servers = AgentTool.objects.filter(
        project=tool.project_id, kind=AgentTool.ToolKind.MCP
    ).exclude(pk=tool.pk)
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
    definition = tool.definition
    if not re.fullmatch(TOOL_NAME, tool.name):
        yield "name", "A letter, then letters, digits, `_` and `-`, at most 64."
    if tool.name.lower() in RESERVED_NAMES:
        yield "name", "The memory tools have this name; choose another one."
    for field in definition.keys() - set(DEFINITION_FIELDS[tool.kind]):
        yield f"definition.{field}", f"A tool of kind {tool.kind} has no such field."
    yield from _find_header_faults(definition.get("headers") or {})
    yield from _find_argument_faults(tool.arguments)
    if tool.kind == AgentTool.ToolKind.HTTP:
        yield from _find_http_faults(definition, tool.arguments)
    else:
        yield from _find_mcp_faults(definition, tool.arguments)


def _find_argument_faults(
    arguments: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, str]]:
    names = [argument["name"] for argument in arguments]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield "arguments", f"The argument {name} is listed twice."
    for position, argument in enumerate(arguments):
        if not re.fullmatch(NAME, argument["name"]):
            message = "A name has letters, digits, `_`, `.` and `-`, at most 64."
            yield f"arguments.{position}.name", message
        if argument["type"] not in PYTHON_TYPES:
            yield f"arguments.{position}.type", f"One of: {', '.join(PYTHON_TYPES)}."


def _find_http_faults(
    definition: Mapping[str, Any], arguments: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    method = definition.get("method")
    if method not in METHODS:
        yield "definition.method", f"One of: {', '.join(METHODS)}."
    elif method not in BODY_METHODS and definition.get("body") is not None:
        yield "definition.body", f"A {method} has no body; use `query`."
    yield from _find_url_faults(definition.get("url"), HTTP_RULES)
    known = {argument["name"] for argument in arguments}
    for field in ("url", "query", "body"):
        for name in sorted(find_argument_names(definition.get(field)) - known):
            message = f"`{{{name}}}` is no argument of the tool; declare it."
            yield f"definition.{field}", message
        for name in sorted(find_secret_names(definition.get(field))):
            message = (
                f"`{{secret:{name}}}` is allowed in headers only, because addresses and "
                "bodies are logged by servers."
            )
            yield f"definition.{field}", message


def _find_mcp_faults(
    definition: Mapping[str, Any], arguments: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    if arguments:
        yield "arguments", "An MCP server describes its own arguments; leave them out."
    url = definition.get("url")
    yield from _find_url_faults(url, MCP_RULES)
    if isinstance(url, str) and ("{" in url or "}" in url):
        yield "definition.url", "The address of an MCP server has no arguments."


def _find_url_faults(
    url: Any, rules: outbound.OutboundRules
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an address; names of hosts are looked up in each call."""
    field = "definition.url"
    if not isinstance(url, str) or not outbound.is_http_url(url):
        yield field, "An http or https address with a host and without a password."
        return
    if len(url) > MAX_URL:
        yield field, f"At most {MAX_URL:,} characters."
    parts = urlsplit(url)
    if "{" in parts.netloc or "}" in parts.netloc:
        yield field, "Arguments can stand in the path and the query, not in the host."
        return
    if "#" in url:
        yield field, "Servers do not get what follows a `#`; leave it out."
    if has_stray_braces(url):
        yield field, "A brace belongs to a placeholder such as `{id}`."
    if not secrets.is_clean(url):
        yield field, "The address holds a secret; send it in a header instead."
    try:
        outbound.refuse_written_address(url, rules)
    except OutboundRefused as refused:
        yield field, str(refused)


def _find_header_faults(headers: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if len(headers) > MAX_HEADERS:
        yield "definition.headers", f"At most {MAX_HEADERS} headers."
    for name, value in headers.items():
        field = f"definition.headers.{name}"
        if not _HEADER_NAME.fullmatch(name):
            yield field, "This is no name of a header."
        elif name.lower() in CLIENT_HEADERS:
            yield field, "The service itself sets this header; leave it out."
        if not isinstance(value, str) or not value.isprintable() or not value.isascii():
            yield field, "A header is one line of ASCII text."
        elif has_stray_braces(value) or find_argument_names([value]):
            yield field, "Headers have secrets (`{secret:NAME}`) and no arguments."
        elif _MASK.search(value) or not secrets.is_clean(value):
            yield (
                field,
                (
                    "The header holds a secret. Store it with PUT /agents/secrets/NAME, and "
                    "write `{secret:NAME}` in its place."
                ),
            )

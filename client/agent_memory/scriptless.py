"""What a harness needs to call the service by its address, without a program of ours.

The key is in an environment variable, which the harness puts into a header. No settings have
the key itself. The hooks are of the types `http` and `mcp_tool`, where a harness has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

SERVER = "agent-memory"  # the name of the MCP server in every harness
TIMEOUT = 3  # seconds that a harness gives a hook; `am hook` ends earlier by itself
KEY_VARIABLE = "AGENT_MEMORY_KEY"
# The fields that every event of Claude Code and Codex has, and those of one event. Codex
# calls no tool if a field that is named is not in the event.
COMMON_FIELDS = ("hook_event_name", "session_id", "cwd")
EVENT_FIELDS = {
    "session-start": ("source",),
    "prompt": ("prompt",),
    "tool-failed": ("tool_name", "tool_input", "tool_response"),
    "subagent-start": ("agent_id",),
}
# The events at which there is nothing to give, or whose answer is dropped. Only `am` sends a
# transcript at them. Codex calls no tool at the end of a session.
UNUSED_BY_CLAUDE = ("stop",)
UNUSED_BY_CODEX = ("stop", "session-end")
UNUSED_BY_COPILOT = ("stop",)


@dataclass(frozen=True)
class ProjectAddress:
    """A project, by the address of its server and by its own id or name."""

    server: str
    project: str

    @property
    def mcp_url(self) -> str:
        return f"{self.server}/mcp/{quote(self.project)}"

    def hook_url(self, harness: str, **query: str) -> str:
        return f"{self.server}/hooks/{harness}?{urlencode({'project_id': self.project, **query})}"


def write_bearer(variable: str) -> dict[str, str]:
    """Write the header of the key; `variable` is how the harness names the environment's."""
    return {"Authorization": f"Bearer {variable}"}


def write_http_server(address: ProjectAddress) -> dict[str, Any]:
    """The form of Claude Code."""
    headers = write_bearer(f"${{{KEY_VARIABLE}}}")
    return {"type": "http", "url": address.mcp_url, "headers": headers}


def write_http_tools(address: ProjectAddress) -> dict[str, Any]:
    """The form of Copilot CLI, which wants the tools named."""
    return {**write_http_server(address), "tools": ["*"]}


def write_token_variable(address: ProjectAddress) -> dict[str, Any]:
    """The form of Codex."""
    return {"url": address.mcp_url, "bearer_token_env_var": KEY_VARIABLE}


def write_http_url(address: ProjectAddress) -> dict[str, Any]:
    """The form of Gemini CLI."""
    headers = write_bearer(f"${KEY_VARIABLE}")
    return {"httpUrl": address.mcp_url, "headers": headers}


def write_remote(address: ProjectAddress) -> dict[str, Any]:
    """The form of OpenCode, which asks for a sign-in by OAuth unless told not to."""
    headers = write_bearer(f"{{env:{KEY_VARIABLE}}}")
    return {
        "type": "remote",
        "url": address.mcp_url,
        "headers": headers,
        "oauth": False,
        "enabled": True,
    }


def write_url(address: ProjectAddress) -> dict[str, Any]:
    """The form of Cursor."""
    headers = write_bearer(f"${{env:{KEY_VARIABLE}}}")
    return {"url": address.mcp_url, "headers": headers}


def write_claude_hook(address: ProjectAddress, event: str) -> dict[str, Any] | None:
    """Claude Code posts every event but the start of a session, which calls the tool.

    At launch its MCP servers are not there yet, and the hook is skipped. So the first prompt
    starts the session, and the tool is called only after `/clear` and a compaction.
    """
    if event in UNUSED_BY_CLAUDE:
        return None
    if event == "session-start":
        return {"matcher": "clear|compact", **write_tool_hook("claude-code", event)}
    opens = {"opens_session": "true"} if event == "prompt" else {}
    hook = {
        "type": "http",
        "url": address.hook_url("claude-code", **opens),
        "headers": write_bearer(f"${{{KEY_VARIABLE}}}"),
        "allowedEnvVars": [KEY_VARIABLE],
        "timeout": TIMEOUT,
    }
    return {"hooks": [hook]}


def write_codex_hook(address: ProjectAddress, event: str) -> dict[str, Any] | None:
    """Codex calls the tool, also at the start if its MCP servers are there by then."""
    return None if event in UNUSED_BY_CODEX else write_tool_hook("codex", event)


def write_tool_hook(harness: str, event: str) -> dict[str, Any]:
    """Write the call of the MCP tool `hook`, with the fields of the event."""
    fields = (*COMMON_FIELDS, *EVENT_FIELDS.get(event, ()))
    arguments: dict[str, Any] = {"harness": harness, "payload": _write_fields(fields)}
    if event == "prompt":
        arguments["opens_session"] = True
    hook = {
        "type": "mcp_tool",
        "server": SERVER,
        "tool": "hook",
        "input": arguments,
        "timeout": TIMEOUT,
    }
    return {"hooks": [hook]}


def _write_fields(names: Iterable[str]) -> dict[str, str]:
    return {name: f"${{{name}}}" for name in names}


def write_copilot_hook(address: ProjectAddress, event: str) -> dict[str, Any] | None:
    """Copilot CLI does not name the event in its JSON, so the address does."""
    if event in UNUSED_BY_COPILOT:
        return None
    return {
        "type": "http",
        "url": address.hook_url("copilot", event=event),
        "headers": write_bearer(f"${{{KEY_VARIABLE}}}"),
        "allowedEnvVars": [KEY_VARIABLE],
        "timeoutSec": TIMEOUT,
    }

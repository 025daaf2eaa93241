"""OpenCode: https://opencode.ai/docs/plugins.

OpenCode has plugins in place of hooks. The plugin that `am connect` writes sends a bus event
as it is, `{"type", "properties"}`, and a call of a plugin's hook as `{"type", "input",
"output"}`. A tool that failed is a bus event only; a command of the shell that failed is a
call that completed, with its exit status.
"""

from __future__ import annotations

from typing import Any

from mcp_server.hooks.harnesses import fields
from mcp_server.hooks.harnesses.fields import Payload
from mcp_server.hooks.harnesses.harness import Harness
from mcp_server.hooks.hook_event import EndedCall, EventKind, HookEvent

KINDS = {
    "session.created": EventKind.SESSION_START,
    "chat.message": EventKind.PROMPT,
    "tool.execute.after": EventKind.TOOL,
    "message.part.updated": EventKind.TOOL,
    "experimental.session.compacting": EventKind.PRE_COMPACT,
    "session.idle": EventKind.STOP,
    "session.deleted": EventKind.SESSION_END,
}


def find_name(payload: Payload) -> str:
    return fields.text(payload, "type")


def read(payload: Payload, kind: EventKind) -> HookEvent:
    properties = fields.mapping(payload, "properties")
    given = fields.mapping(payload, "input")
    info = fields.mapping(properties, "info")
    part = fields.mapping(properties, "part")
    sources = (given, part, properties)
    sessions = [fields.text(each, "sessionID") for each in sources]
    return HookEvent(
        kind,
        name=find_name(payload),
        session=next(filter(None, [*sessions, fields.text(info, "id")]), ""),
        cwd=fields.text(info, "directory") or fields.text(payload, "directory"),
        prompt=_read_prompt(payload),
        call=_read_failed_part(part) or _read_call(payload, given),
    )


def _read_prompt(payload: Payload) -> str:
    parts = fields.mapping(payload, "output").get("parts")
    texts = [
        fields.text(part, "text")
        for part in (parts if isinstance(parts, list) else [])
        if isinstance(part, dict) and part.get("type") == "text"
    ]
    return "\n".join(filter(None, texts))


def _read_call(payload: Payload, given: Payload) -> EndedCall | None:
    tool = fields.text(given, "tool")
    if not tool:
        return None
    output = fields.mapping(payload, "output")
    return EndedCall(
        tool,
        given.get("args"),
        fields.result_text(output.get("output")),
        has_failed=True if _read_exit(output) else None,
    )


def _read_exit(output: Payload) -> int:
    """Return the exit status of a command, as the tool of the shell keeps it."""
    code = fields.mapping(output, "metadata").get("exit")
    return code if isinstance(code, int) else 0


def _read_failed_part(part: Payload) -> EndedCall | None:
    state = fields.mapping(part, "state")
    has_failed = state.get("status") == "error" or _read_exit(state)
    if part.get("type") != "tool" or not has_failed:
        return None
    error = fields.result_text(state.get("error") or state.get("output"))
    return EndedCall(
        fields.text(part, "tool"), state.get("input"), error, has_failed=True
    )


def write(event: HookEvent, text: str) -> dict[str, Any]:
    return {"additionalContext": text}


HARNESS = Harness("opencode", KINDS, find_name, read, write)

"""Cursor: https://cursor.com/docs/agent/hooks.

`beforeSubmitPrompt` cannot add to the context, so nothing is given there.
"""

from __future__ import annotations

import json
from typing import Any

from mcp_server.hooks.harnesses import fields
from mcp_server.hooks.harnesses.fields import Payload
from mcp_server.hooks.harnesses.harness import Harness
from mcp_server.hooks.hook_event import EndedCall, EventKind, HookEvent

KINDS = {
    "sessionStart": EventKind.SESSION_START,
    "subagentStart": EventKind.SUBAGENT_START,
    "postToolUse": EventKind.TOOL,
    "postToolUseFailure": EventKind.TOOL_FAILED,
    "afterShellExecution": EventKind.TOOL,
    "preCompact": EventKind.PRE_COMPACT,
    "stop": EventKind.STOP,
    "subagentStop": EventKind.STOP,
    "sessionEnd": EventKind.SESSION_END,
}


def find_name(payload: Payload) -> str:
    return fields.text(payload, "hook_event_name")


def read(payload: Payload, kind: EventKind) -> HookEvent:
    roots = payload.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    return HookEvent(
        kind,
        name=find_name(payload),
        session=fields.text(payload, "conversation_id", "session_id"),
        subagent=fields.text(payload, "subagent_id"),
        cwd=fields.text(payload, "cwd") or (first if isinstance(first, str) else ""),
        call=_read_call(payload, kind),
    )


def _read_call(payload: Payload, kind: EventKind) -> EndedCall | None:
    if payload.get("is_interrupt") is True or payload.get("failure_type") in (
        "permission_denied",
        "timeout",
    ):
        return None
    command = fields.text(payload, "command")
    tool = fields.text(payload, "tool_name") or ("Shell" if command else "")
    if not tool:
        return None
    output = payload.get("tool_output", payload.get("output"))
    failed = kind is EventKind.TOOL_FAILED
    result = payload.get("error_message") if failed else _parse(output)
    arguments = payload.get("tool_input", {"command": command})
    return EndedCall(
        tool,
        _parse(arguments),
        fields.result_text(result),
        has_failed=True if failed else None,
    )


def _parse(value: Any) -> Any:
    """Return the value of a JSON text; any other text as it is."""
    if not (isinstance(value, str) and value[:1] in "{["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def write(event: HookEvent, text: str) -> dict[str, Any]:
    return {"additional_context": text}


HARNESS = Harness("cursor", KINDS, find_name, read, write)

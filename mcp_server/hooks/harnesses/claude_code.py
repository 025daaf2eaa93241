"""Claude Code: https://code.claude.com/docs/en/hooks. Codex has the same shape."""

from __future__ import annotations

from typing import Any

from mcp_server.hooks.harnesses import fields
from mcp_server.hooks.harnesses.fields import Payload
from mcp_server.hooks.harnesses.harness import Harness
from mcp_server.hooks.hook_event import EndedCall, EventKind, HookEvent

KINDS = {
    "SessionStart": EventKind.SESSION_START,
    "SubagentStart": EventKind.SUBAGENT_START,
    "UserPromptSubmit": EventKind.PROMPT,
    "PostToolUse": EventKind.TOOL,
    "PostToolUseFailure": EventKind.TOOL_FAILED,
    "PreCompact": EventKind.PRE_COMPACT,
    "Stop": EventKind.STOP,
    "SubagentStop": EventKind.STOP,
    "SessionEnd": EventKind.SESSION_END,
}


def find_name(payload: Payload) -> str:
    return fields.text(payload, "hook_event_name")


def read(payload: Payload, kind: EventKind) -> HookEvent:
    return HookEvent(
        kind,
        name=find_name(payload),
        session=fields.text(payload, "session_id"),
        subagent=fields.text(payload, "agent_id"),
        source=fields.text(payload, "source"),
        cwd=fields.text(payload, "cwd"),
        prompt=fields.text(payload, "prompt"),
        call=_read_call(payload, kind),
    )


def _read_call(payload: Payload, kind: EventKind) -> EndedCall | None:
    tool = fields.text(payload, "tool_name")
    # A call that a person has stopped says nothing about its command.
    if not tool or payload.get("is_interrupt") is True:
        return None
    has_failed = kind is EventKind.TOOL_FAILED
    result = payload.get("error" if has_failed else "tool_response")
    return EndedCall(
        tool,
        payload.get("tool_input"),
        fields.result_text(result),
        has_failed=True if has_failed else None,
    )


def write(event: HookEvent, text: str) -> dict[str, Any]:
    """Return the answer of the events that may add to the context."""
    return {
        "hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}
    }


HARNESS = Harness("claude-code", KINDS, find_name, read, write)

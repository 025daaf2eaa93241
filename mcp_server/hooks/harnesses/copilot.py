"""Copilot CLI: https://docs.github.com/en/copilot/reference/hooks-configuration.

A hook that is registered under a name such as `sessionStart` gets fields in camel case and
no name of its event; `am` says it. One registered as `SessionStart` gets what Claude Code
gets. A command of the shell that failed is a call that succeeded: its text says the status.
"""

from __future__ import annotations

import json
from typing import Any

from conversations.transcripts.copilot import states_failure
from mcp_server.hooks.harnesses import claude_code, fields
from mcp_server.hooks.harnesses.fields import Payload
from mcp_server.hooks.harnesses.harness import Harness
from mcp_server.hooks.hook_event import EndedCall, EventKind, HookEvent

KINDS = claude_code.KINDS | {
    "sessionStart": EventKind.SESSION_START,
    "subagentStart": EventKind.SUBAGENT_START,
    "userPromptSubmitted": EventKind.PROMPT,
    "postToolUse": EventKind.TOOL,
    "postToolUseFailure": EventKind.TOOL_FAILED,
    "preCompact": EventKind.PRE_COMPACT,
    "agentStop": EventKind.STOP,
    "subagentStop": EventKind.STOP,
    "sessionEnd": EventKind.SESSION_END,
}
FAILED = ("failure", "error")


def find_name(payload: Payload) -> str:
    return fields.text(payload, "hook_event_name", "hookEventName")


def read(payload: Payload, kind: EventKind) -> HookEvent:
    if "hook_event_name" in payload:
        return claude_code.read(payload, kind)
    return HookEvent(
        kind,
        name=find_name(payload),
        session=fields.text(payload, "sessionId"),
        subagent=fields.text(payload, "agentId"),
        source=fields.text(payload, "source"),
        cwd=fields.text(payload, "cwd"),
        prompt=fields.text(payload, "prompt"),
        call=_read_call(payload, kind),
    )


def _read_call(payload: Payload, kind: EventKind) -> EndedCall | None:
    tool = fields.text(payload, "toolName")
    if not tool:
        return None
    result = fields.mapping(payload, "toolResult")
    outcome = fields.text(result, "resultType")
    error = payload.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    is_of_failures = kind is EventKind.TOOL_FAILED and outcome != "success"
    text = fields.text(result, "textResultForLlm", "error") or fields.result_text(
        message
    )
    has_failed = is_of_failures or outcome in FAILED or states_failure(text)
    return EndedCall(
        tool,
        _read_arguments(payload.get("toolArgs")),
        text,
        has_failed=True if has_failed else None,
    )


def _read_arguments(value: Any) -> Any:
    """Return the arguments; Copilot sends them as JSON in a string."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def write(event: HookEvent, text: str) -> dict[str, Any]:
    if event.name in claude_code.KINDS:
        return claude_code.write(event, text)
    return {"additionalContext": text}


HARNESS = Harness("copilot", KINDS, find_name, read, write)

"""Gemini CLI: https://geminicli.com/docs/hooks/reference."""

from __future__ import annotations

from mcp_server.hooks.harnesses import claude_code, fields
from mcp_server.hooks.harnesses.fields import Payload
from mcp_server.hooks.harnesses.harness import Harness
from mcp_server.hooks.hook_event import EndedCall, EventKind, HookEvent

KINDS = {
    "SessionStart": EventKind.SESSION_START,
    "BeforeAgent": EventKind.PROMPT,
    "AfterTool": EventKind.TOOL,
    "PreCompress": EventKind.PRE_COMPACT,
    "AfterAgent": EventKind.STOP,
    "SessionEnd": EventKind.SESSION_END,
}
find_name = claude_code.find_name


def read(payload: Payload, kind: EventKind) -> HookEvent:
    return HookEvent(
        kind,
        name=find_name(payload),
        session=fields.text(payload, "session_id"),
        source=fields.text(payload, "source"),
        cwd=fields.text(payload, "cwd"),
        # After the agent's turn the prompt comes again, with the answer.
        prompt=fields.text(payload, "prompt") if kind is EventKind.PROMPT else "",
        call=_read_call(payload),
    )


def _read_call(payload: Payload) -> EndedCall | None:
    tool = fields.text(payload, "tool_name")
    if not tool:
        return None
    response = fields.mapping(payload, "tool_response")
    error = response.get("error")
    text = fields.result_text(response.get("llmContent"))
    return EndedCall(
        tool,
        payload.get("tool_input"),
        text or fields.result_text(error or payload.get("tool_response")),
        has_failed=True if error else None,
    )


HARNESS = Harness("gemini", KINDS, find_name, read, claude_code.write)

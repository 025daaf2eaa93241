"""Gemini CLI: https://geminicli.com/docs/hooks/reference."""

from __future__ import annotations

import re

from conversations.transcripts.gemini import unwrap
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
# The lines in which Gemini describes a shell command, beside those of its output.
LABELS = ("Command: ", "Directory: ", "Exit Code: ", "Signal: ", "Error: (none)")
_EXIT_CODE = re.compile(r"^Exit Code: (\d{1,3})$", re.MULTILINE)
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
    text = unwrap(fields.result_text(response.get("llmContent")))
    exit_code = _EXIT_CODE.search(text)
    return EndedCall(
        tool,
        payload.get("tool_input"),
        _drop_labels(text) or fields.result_text(error or payload.get("tool_response")),
        has_failed=True if error or (exit_code and exit_code[1] != "0") else None,
    )


def _drop_labels(text: str) -> str:
    """Return what a shell command printed, without the labels that Gemini adds to it."""
    if not _EXIT_CODE.search(text):
        return text
    lines = (line for line in text.splitlines() if not line.startswith(LABELS))
    return "\n".join(line.removeprefix("Output: ") for line in lines)


HARNESS = Harness("gemini", KINDS, find_name, read, claude_code.write)

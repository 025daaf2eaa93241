"""Sessions of coding agents that report their events."""

from __future__ import annotations

import pytest

from tests.ace.repairs.conftest import ERROR, FAILED
from tests.ace.repairs.conftest import complete as complete


@pytest.fixture
def hook(project):
    """Report an event; return the answer's JSON, or the whole answer."""

    def hook(api, harness="claude-code", *, whole=False, query="", **payload):
        answer = api.post(f"/hooks/{harness}{query}", payload, format="json")
        if whole:
            return answer
        assert answer.status_code == 200, answer.content
        return answer.json()

    return hook


def text_of(answer):
    """The text that Claude Code and Codex add to the context; empty if there is none."""
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "")


def failed(session="s9", command=FAILED, error=ERROR, **more):
    """A failed command, as Claude Code reports it."""
    return {
        "hook_event_name": "PostToolUseFailure",
        "session_id": session,
        "cwd": "/home/ana/app",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "error": error,
    } | more


def started(session="s9", **more):
    return {
        "hook_event_name": "SessionStart",
        "session_id": session,
        "cwd": "/home/ana/app",
        "source": "startup",
    } | more

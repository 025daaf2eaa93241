"""The tool `hook` answers an event as the route of the hooks does."""

from __future__ import annotations

import json

import pytest

from mcp_server.models import HookCount

pytestmark = pytest.mark.django_db
EVENT = {"session_id": "s1", "cwd": "/app", "source": "startup"}


@pytest.fixture
def rule(alice_api, project):
    body = {"project_id": str(project.pk), "content": "Lock the crane at night."}
    alice_api.post("/api/v1/playbook/rules", body | {"category": "gotchas"})
    return body["content"]


def test_a_session_start_gives_what_the_route_gives(bob_mcp, mcp_of, project, rule):
    payload = EVENT | {"hook_event_name": "SessionStart"}
    result = bob_mcp.result("hook", {"harness": "claude-code", "payload": payload})
    by_route = mcp_of(project).api.post("/hooks/claude-code", payload).json()

    assert rule in result["content"][0]["text"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert result["structuredContent"] == by_route


def test_the_event_may_be_named_beside_the_payload(bob_mcp, rule):
    told = {"harness": "claude-code", "event": "SessionStart", "payload": EVENT}

    assert rule in bob_mcp.result("hook", told)["content"][0]["text"]


def test_it_counts_the_event(bob_mcp):
    bob_mcp.call("hook", harness="codex", event="SessionStart", payload=EVENT)

    assert HookCount.objects.get().harness == "codex"


def test_an_unknown_harness_is_a_tool_error(bob_mcp):
    assert bob_mcp.refusal("hook", harness="nobody", payload={})

"""The route itself: what is refused, with which code, and what is counted of whom."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access import keys
from common.caller import Role
from mcp_server import hooks
from mcp_server.hooks import hook_counts
from mcp_server.models import HookCount
from tests.mcp_server.hooks.conftest import started

pytestmark = pytest.mark.django_db


class TestRefusals:
    def test_a_key_that_has_ended_gets_401(self, hook, bob_api):
        keys.revoke(bob_api.key)

        answer = hook(bob_api, whole=True, **started())

        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
        assert answer.headers["WWW-Authenticate"] == "Bearer"

    def test_an_unknown_harness_gets_404(self, hook, bob_api):
        answer = hook(bob_api, "emacs", whole=True, **started())

        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_harness")
        assert "claude-code, codex" in answer.json()["detail"]

    @pytest.mark.parametrize(
        ("body", "code"), [("[1]", "invalid"), ("{", "invalid_json"), ("7", "invalid")]
    )
    def test_a_body_that_is_no_object_gets_400(self, bob_api, body, code):
        answer = bob_api.post("/hooks/codex", body, content_type="application/json")

        assert (answer.status_code, answer.json()["code"]) == (400, code)

    def test_an_event_of_more_than_a_mebibyte_gets_413(self, hook, bob_api):
        answer = hook(bob_api, whole=True, **started(more="x" * 1024 * 1024))

        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")

    def test_a_key_of_several_projects_names_one(
        self, hook, client_of, project, other_project
    ):
        both = client_of(project, other_project, role=Role.WRITER)

        answer = hook(both, whole=True, **started())

        assert answer.status_code == 400
        assert "project_id" in answer.json()["errors"]
        assert hook(both, query="?project_id=alpha", **started()) == {}

    def test_nobody_reports_to_a_project_of_others(self, hook, charlie_api, project):
        query = f"?project_id={project.pk}"

        assert hook(charlie_api, whole=True, query=query).status_code == 404
        assert charlie_api.get(f"/hooks/status{query}").status_code == 404
        assert not HookCount.objects.exists()


@pytest.mark.parametrize(
    "payload",
    [
        {"hook_event_name": "SessionStart", "session_id": "x" * 300, "source": 7},
        {"hook_event_name": "SessionStart", "session_id": "a\u0000b", "cwd": []},
        {"hook_event_name": "UserPromptSubmit", "prompt": {"text": "add tests"}},
        {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": "ls"},
        {"hook_event_name": "PostToolUseFailure", "tool_name": "x", "error": [{}, 1]},
        {"hook_event_name": "SessionEnd", "session_id": "nobody-has-begun-it"},
        {"am": {"event": "stop", "files": {"a.py": "short", "b.py": None}}},
    ],
)
def test_an_odd_event_fails_nobody(hook, bob_api, payload):
    assert hook(bob_api, **payload) == {}


class TestStatus:
    def test_it_has_the_last_event_and_the_counts_of_each_harness(self, hook, bob_api):
        hook(bob_api, **started())
        hook(bob_api, **started())
        hook(bob_api, hook_event_name="Dreamt")
        hook(bob_api, "codex", hook_event_name="Stop")

        codex, claude = bob_api.get("/hooks/status").json()

        assert (codex["harness"], codex["last_event"]) == ("codex", "stop")
        assert claude["harness"] == "claude-code"
        assert claude["events"] == {"session-start": 2, "unknown": 1}
        assert claude["last_event"] == "unknown"
        assert claude["agent_id"].startswith("key:am_")

    def test_a_bound_key_sees_its_own_line_only(self, hook, client_of, project):
        one, two = (
            client_of(project, role=Role.WRITER, agent_id=name) for name in "ab"
        )
        for api in (one, two):
            hook(api, **started())

        assert [row["agent_id"] for row in one.get("/hooks/status").json()] == ["a"]

    def test_no_more_rows_are_read_than_are_listed(
        self, hook, client_of, project, alice
    ):
        for name in "ab":
            api = client_of(project, role=Role.WRITER, agent_id=name)
            hook(api, **started())
            hook(api, hook_event_name="Stop")

        with CaptureQueriesContext(connection) as queries:
            (newest,) = hook_counts.find_status(project, alice, most=1)

        assert (newest.agent_id, set(newest.events)) == ("b", {"session-start", "stop"})
        assert "LIMIT 1" in queries[-1]["sql"]

    def test_an_owner_sees_all(self, hook, bob_api, alice_api):
        hook(bob_api, **started())

        status = alice_api.get("/hooks/status?project_id=alpha").json()

        assert [row["harness"] for row in status] == ["claude-code"]


def test_the_tool_of_the_mcp_server_calls_the_same_function(project, bob):
    assert hooks.answer(bob, project, "codex", {"hook_event_name": "Stop"}) == {}

"""The fix at the moment of failure: to whom, how often, and never."""

from __future__ import annotations

import pytest

from common.caller import Role
from common.text.memory_fence import CLOSE, OPEN
from inference import tokens
from mcp_server.models import Push
from playbook.models import Exposure, PlaybookDelta
from tests.ace.repairs.conftest import CURED, ERROR, FAILED, bash
from tests.mcp_server.hooks.conftest import failed, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def carol_api(client_of, project):
    return client_of(project, role=Role.WRITER)


@pytest.fixture
def dora_api(client_of, project):
    return client_of(project, role=Role.WRITER)


class TestToWhom:
    def test_the_same_person_gets_it_in_the_next_session(self, complete, hook, bob_api):
        done = complete(bob_api, session_id="s1")

        answer = hook(bob_api, **failed("s2"))

        text = text_of(answer)
        assert answer["hookSpecificOutput"]["hookEventName"] == "PostToolUseFailure"
        assert text.startswith(OPEN)
        assert text.endswith(CLOSE)
        assert 'Run "go test -tags=it ./ledger" instead of' in text
        assert done["run_id"] in text
        assert tokens.estimate(text) <= 150

    def test_the_session_that_found_it_is_not_told(self, complete, hook, bob_api):
        complete(bob_api, session_id="s1")

        assert hook(bob_api, **failed("s1")) == {}

    def test_another_person_gets_it_after_two_persons_have_shown_it(
        self, complete, hook, bob_api, carol_api, dora_api
    ):
        complete(bob_api, session_id="s1")
        assert hook(dora_api, **failed("s9")) == {}
        complete(carol_api, session_id="s2")

        assert "-tags=it" in text_of(hook(dora_api, **failed("s9")))

    def test_another_person_gets_it_after_a_curator_accepted_the_rule(
        self, complete, hook, bob_api, dora_api, alice_api
    ):
        calls = [
            {
                "tool_name": "query_orders",
                "arguments": {"customer": "c-1", "status": "open"},
                "result": "Error: unexpected argument customer, use customer_id",
            },
            {
                "tool_name": "query_orders",
                "arguments": {"customer_id": "c-1", "status": "open"},
                "result": "[]",
            },
        ]
        for name in ("s1", "s2"):
            complete(bob_api, calls, outcome="success", session_id=name)
        call = failed("s9", error=calls[0]["result"], tool_name="query_orders")
        call["tool_input"] = calls[0]["arguments"]
        assert hook(dora_api, **call) == {}
        delta = PlaybookDelta.objects.filter(status="pending").first()
        alice_api.post(f"/api/v1/proposals/{delta.pk}/accept", {"note": "Yes."})

        assert "customer_id" in text_of(hook(dora_api, **call))
        assert Exposure.objects.filter(key_id=dora_api.key.pk).count() == 1

    def test_the_key_of_a_user_gets_nothing_of_another_user(
        self, complete, hook, client_of, project
    ):
        one = client_of(project, role=Role.WRITER, user_id="u1")
        two = client_of(project, role=Role.WRITER, user_id="u2")
        complete(one, session_id="s1")

        assert hook(two, **failed("s2")) == {}
        assert hook(one, **failed("s2"))


class TestOnce:
    def test_it_is_said_once_in_a_session_and_again_in_the_next(
        self, complete, hook, bob_api
    ):
        complete(bob_api, session_id="s1")

        said = [bool(hook(bob_api, **failed("s2"))) for _ in range(2)]

        assert said == [True, False]
        assert hook(bob_api, **failed("s3"))
        assert {(push.kind, push.event) for push in Push.objects.all()} == {
            ("fix", "tool-failed")
        }

    def test_a_subagent_has_a_context_of_its_own(self, complete, hook, bob_api):
        complete(bob_api, session_id="s1")
        hook(bob_api, **failed("s2"))

        assert hook(bob_api, **failed("s2", agent_id="a1"))
        assert hook(bob_api, **failed("s2", agent_id="a1")) == {}

    def test_compaction_does_not_say_it_again(self, complete, hook, bob_api):
        complete(bob_api, session_id="s1")
        hook(bob_api, **failed("s2"))
        hook(bob_api, hook_event_name="PreCompact", session_id="s2")

        assert hook(bob_api, **failed("s2")) == {}


class TestNever:
    @pytest.mark.parametrize(
        ("command", "error"),
        [
            ("go build ./a", "a/b.go:3:5: undefined: Foo"),
            ("go test ./a", "--- FAIL: TestA (0.00s)\nFAIL"),
        ],
    )
    def test_of_code_and_tests(self, complete, hook, bob_api, command, error):
        for name in ("s1", "s2"):
            calls = [bash(command, error), bash(f"{command} -v")]
            complete(bob_api, calls, session_id=name)

        assert hook(bob_api, **failed("s3", command, error)) == {}

    def test_of_a_call_that_a_person_stopped(self, complete, hook, bob_api):
        complete(bob_api, session_id="s1")

        assert hook(bob_api, **failed("s2", is_interrupt=True)) == {}

    def test_of_a_dangerous_cure(self, complete, hook, bob_api):
        calls = [bash(FAILED, ERROR), bash(f"sudo {CURED}")]
        complete(bob_api, calls, session_id="s1")

        assert hook(bob_api, **failed("s2")) == {}

    def test_if_the_project_has_switched_it_off(self, complete, hook, bob_api, project):
        complete(bob_api, session_id="s1")
        project.settings = {"hooks": {"tool_failed": False}}
        project.save()

        assert hook(bob_api, **failed("s2")) == {}

    def test_of_a_file_that_is_gone_on_the_branch(self, complete, hook, bob_api):
        error = "error: unknown option --cfg"
        calls = [bash("tool --cfg x", error), bash("tool --config conf/tool.toml x")]
        complete(bob_api, calls, session_id="s1")
        call = failed("s2", "tool --cfg x", error)
        assert text_of(hook(bob_api, **call | {"session_id": "s3"}))

        answer = hook(bob_api, **call, am={"files": {"conf/tool.toml": None}})

        assert answer == {}


def test_codex_shows_the_failure_in_the_output_of_the_tool(complete, hook, bob_api):
    complete(bob_api, session_id="s1")
    call = {
        "hook_event_name": "PostToolUse",
        "session_id": "s2",
        "tool_name": "Bash",
        "tool_input": {"command": FAILED},
        "tool_response": ERROR,
    }

    answer = hook(bob_api, "codex", **call)

    assert answer["hookSpecificOutput"]["hookEventName"] == "PostToolUse"
    assert '"go test -tags=it ./ledger"' in text_of(answer)
    assert (
        hook(bob_api, "codex", **call | {"tool_response": "ok", "session_id": "s3"})
        == {}
    )

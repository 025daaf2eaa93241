"""Demands of document 002, the session memory provider."""

from __future__ import annotations

import json

import pytest

from tests.agents.scripted_endpoint import say as answer_with
from tests.conversations.conftest import say, talk

pytestmark = pytest.mark.django_db
PAIR = {"user_id": "42", "agent_id": "agent"}
CONSTRAINT = "Never deploy on a Friday."


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="issue 48: a fallback without the model"
)
def test_a_session_is_compacted_although_the_model_fails(api, model):
    api.bootstrap()
    api.append(*talk(80, words="The build failed because of a missing token " * 20))

    answer = api.post("sessions/main/compact", mode="full")

    assert model.requests or model.json_requests, "No model was asked."
    assert answer.status_code == 200
    assert answer.json()["leaf_summaries_created"] > 0


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="issue 48: the score of a keyword match"
)
def test_a_keyword_match_has_the_score_0(api):
    api.bootstrap()
    api.append(say("The harbour crane is broken."))

    found = api.post("sessions/main/search", query="crane", mode="keyword").json()

    assert [hit["score"] for hit in found["results"]] == [0]


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="issue 48: the user 0 is all users"
)
def test_the_list_of_the_user_0_has_the_sessions_of_all(api):
    for key, user in (("one", "1"), ("two", "2"), ("three", "0")):
        api.bootstrap(key, user_id=user)

    found = api.get("sessions", user_id=0).json()["results"]

    assert {one["key"] for one in found} == {"one", "two", "three"}


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="issue 45: notes stand in every context"
)
def test_a_context_of_a_session_begins_with_profile_and_soul(api):
    api.put("agent-memory/profile", text="Ana likes Go.", **PAIR)
    api.put("agent-memory/soul", text="Speak like a sailor.", **PAIR)
    api.bootstrap(user_id="42")
    api.append(say("Hello."))

    context = json.dumps(api.assemble(token_budget=4_000))

    assert "Ana likes Go." in context
    assert "Speak like a sailor." in context


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="issue 45: constraints in every prompt"
)
def test_a_constraint_is_in_a_prompt_without_a_conversation(api, model):
    pair = {"user_id": "ana", "agent_id": "react-mem"}
    api.post("agent-memory/constraints", text=CONSTRAINT, **pair)
    model.script(answer_with("Thought: known.\nFinal Answer: No."))

    api.post("agents/react-mem", question="Deploy?", user="ana", enable_memory=True)

    [prompt] = model.prompts
    assert CONSTRAINT in prompt


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="issue 48: changes of any scope"
)
@pytest.mark.parametrize("scope", ["profile", "soul", "constraint"])
def test_a_change_of_any_scope_can_be_written(api, scope):
    change = {"scope": scope, "action": "update", "after_text": "new"}

    answer = api.post("agent-memory/changes", **PAIR, **change)

    assert answer.status_code == 201


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="issue 48: a write reaches the session"
)
def test_a_running_session_sees_what_its_user_writes(api):
    api.bootstrap(user_id="42")
    api.post("sessions/main/snapshot")

    api.put("agent-memory/profile", text="Ana likes Go.", source="user", **PAIR)

    read = api.get("agent-memory/profile", session="main", **PAIR).json()
    assert read["text"] == "Ana likes Go."

"""Demands of document 002, the session memory provider."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from django.db import connection

from conversations.formats.message import ChatMessage
from conversations.stores import FullStore
from conversations.stores.tool import MemoryTool
from conversations.stores.write_context import (
    agent_id_from_context,
    session_id_from_context,
    user_id_from_context,
    with_agent_id,
    with_session_id,
    with_user_id,
)
from conversations.testing import SESSION, START
from tests.agents.scripted_endpoint import say as answer_with
from tests.conversations.conftest import say, talk

pytestmark = pytest.mark.django_db
PAIR = {"user_id": "42", "agent_id": "agent"}
CONSTRAINT = "Never deploy on a Friday."


def message(text):
    return ChatMessage("user", ({"type": "text", "text": text},), created_at=START)


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


def test_a_context_of_a_session_begins_with_profile_and_soul(api):
    api.put("agent-memory/profile", text="Ana likes Go.", **PAIR)
    api.put("agent-memory/soul", text="Speak like a sailor.", **PAIR)
    api.bootstrap(user_id="42")
    api.append(say("Hello."))

    context = json.dumps(api.assemble(token_budget=4_000))

    assert "Ana likes Go." in context
    assert "Speak like a sailor." in context


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


def test_a_session_has_its_id_agent_user_and_channel(api):
    made = api.bootstrap("default:cli:42:main", user_id=42, channel="cli")

    names = ("key", "agent_id", "user_id", "channel")
    assert [made[name] for name in names] == [
        "default:cli:42:main",
        "agent",
        "42",
        "cli",
    ]


@pytest.mark.django_db(transaction=True)
def test_appends_to_one_session_come_one_after_the_other(project, alice):
    store = FullStore(project, alice)
    store.bootstrap(SESSION)

    def work(writer):
        with closing(connection):
            store.append(SESSION, *[message(f"{writer}") for _ in range(5)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))

    texts = [each.text for each in store.load_history(SESSION.id)]
    blocks = [texts[at : at + 5] for at in range(0, 40, 5)]
    assert sorted(blocks) == [[str(writer)] * 5 for writer in range(8)]


@pytest.mark.parametrize(("threshold", "needed"), [(0.01, True), (0.99, False)])
def test_a_session_needs_compaction_above_a_share_of_its_budget(api, threshold, needed):
    api.bootstrap()
    api.append(*talk(60))

    answer = api.get("sessions/main/compaction", threshold=threshold).json()

    assert answer["needed"] is needed


def test_a_full_compaction_says_what_it_did_and_leaves_nothing_to_do(api):
    api.bootstrap()
    api.append(*talk(80))

    first, second = (
        api.post("sessions/main/compact", mode="full").json() for _ in range(2)
    )

    counts = ["leaf_summaries_created", "condensed_summaries_created"]
    counts += ["messages_compacted"]
    assert set(first) >= {*counts, "tokens_before", "tokens_after", "duration_ms"}
    assert [second[name] for name in counts] == [0, 0, 0]


def test_sessions_are_listed_by_agent_and_in_parts(api):
    for key, agent in (("one", "a"), ("two", "a"), ("three", "a"), ("four", "b")):
        api.bootstrap(key, agent_id=agent)
    api.patch("sessions/two", archived=True)

    def keys(**query):
        return {one["key"] for one in api.get("sessions", **query).json()["results"]}

    assert keys(agent_id="a") == {"one", "three"}
    assert keys(agent_id="a", include_archived=True) == {"one", "two", "three"}
    assert keys(agent_id="a", limit=1) | keys(agent_id="a", limit=1, offset=1) == {
        "one",
        "three",
    }


def test_a_review_has_what_came_since_a_moment(api):
    api.bootstrap()
    api.append(say("Old words.", created_at="2026-01-01T10:00:00Z"))
    api.append(say("New words.", created_at="2026-02-01T10:00:00Z"))

    def review(**query):
        return api.get("sessions/main/review", **query).json()["text"]

    assert review() == "[user] Old words.\n[user] New words."
    assert "New words." in review(since="2026-01-15T00:00:00Z")
    assert review(since="2026-03-01T00:00:00Z") == ""


def test_the_context_of_a_call_names_its_agent_session_and_user():
    with with_agent_id("a"), with_session_id("s"), with_user_id("u"):
        found = (
            agent_id_from_context(),
            session_id_from_context(),
            user_id_from_context(),
        )

    assert found == ("a", "s", "u")
    assert agent_id_from_context() == ""


def test_a_tool_with_read_only_notes_updates_neither_profile_nor_soul(api):
    api.bootstrap(user_id="42")

    def actions(**query):
        found = api.get("sessions/main/memory-tool", **query).json()["parameters"]
        return set(found["properties"]["action"]["enum"])

    left_out = actions() - actions(read_only_profile=True, read_only_soul=True)
    assert left_out == {"profile_update", "soul_update"}


def test_the_tool_of_a_store_without_capabilities_has_the_status_only(project, alice):
    class Bare:
        name = "bare"

    assert list(MemoryTool(Bare(), SESSION, project, alice).actions) == ["status"]


def test_a_message_has_a_role_a_text_and_a_time():
    sent = message("Hello.")

    assert (sent.role, sent.text, sent.created_at) == ("user", "Hello.", START)

"""A claim gives an anonymous session, with the memories of its scope, to a user."""

from __future__ import annotations

import pytest

from conversations.models import Session
from memories.models import Memory

pytestmark = pytest.mark.django_db


@pytest.fixture
def store(session_api):
    session_api.bootstrap("key")

    def store(content, **scope):
        answer = session_api.post(
            "memories",
            agent_id="agent",
            memory_type="warning",
            content=content,
            scope={"kind": "session", "session_id": "key", **scope},
        )
        assert answer.status_code == 201, answer.json()

    return store


def test_the_memories_of_a_claimed_session_are_the_users(
    store, session_api, client_of, project
):
    store("The deployment needs the token of the staging cluster.")

    answer = session_api.post("sessions/key/claim", user_id="42")

    assert answer.status_code == 200, answer.json()
    memory = Memory.objects.get()
    assert memory.scope == {"kind": "session", "session_id": "key", "user_id": "42"}
    assert memory.scope_hash == memory.typed_scope.hash


def test_a_purge_of_the_user_reaches_the_memories_of_a_claimed_session(
    store, session_api
):
    store("The deployment needs the token of the staging cluster.")
    session_api.post("sessions/key/claim", user_id="42")

    answer = session_api.post("purge", user_id="42", reason="asked")

    assert answer.status_code in (200, 201, 202), answer.json()
    assert not Memory.objects.filter(content__contains="staging").exists()


def test_memories_that_the_user_has_in_the_scope_are_not_mixed_with_others(
    store, session_api
):
    store("The deployment needs the token of the staging cluster.")
    store("The tests need the token of the test cluster.", user_id="42")

    answer = session_api.post("sessions/key/claim", user_id="42")

    assert (answer.status_code, answer.json()["code"]) == (409, "scope_taken")
    assert Session.objects.get().user_id == ""
    assert Memory.objects.filter(scope_user="").count() == 1


def test_the_anonymous_session_is_claimed_where_a_user_has_one_of_the_same_key(
    session_api,
):
    session_api.bootstrap("key", user_id="7")
    anonymous = session_api.bootstrap("key")

    answer = session_api.post("sessions/key/claim", user_id="42")

    assert answer.status_code == 200, answer.json()
    assert answer.json()["id"] == anonymous["id"]
    assert Session.objects.get(pk=anonymous["id"]).user_id == "42"


def test_a_claim_keeps_the_quota_of_the_user(session_api, project):
    project.settings = {"conversations": {"sessions_per_user": 2}}
    project.save()
    for key in ("one", "two"):
        session_api.bootstrap(key, user_id="42")
    session_api.bootstrap("key")

    answer = session_api.post("sessions/key/claim", user_id="42")

    assert (answer.status_code, answer.json()["code"]) == (409, "too_many_sessions")
    assert Session.objects.get(key="key").user_id == ""

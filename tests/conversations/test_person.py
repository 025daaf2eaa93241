"""`GET /users/{user_id}/memory`: what is known about a person."""

from __future__ import annotations

import pytest

from common.caller import Role
from tests.conversations.conftest import talk

pytestmark = pytest.mark.django_db
COUNTS = ("agent_memories", "changes", "sessions", "messages", "memories")


@pytest.fixture
def of_ada(session_api):
    """A session, notes of an agent, and a memory of the user `ada`."""
    session_api.bootstrap("main", user_id="ada")
    session_api.append(*talk(3))
    pair = {"user_id": "ada", "agent_id": "agent"}
    session_api.put("agent-memory/profile", text="Works at night", **pair)
    session_api.post("agent-memory/constraints", text="Never push", **pair)
    session_api.post(
        "memories",
        content="Ada prefers Go for servers",
        memory_type="learning",
        scope={"kind": "user", "user_id": "ada"},
    )


def person(api, project, user, status=200):
    answer = api.get(f"/api/v1/users/{user}/memory", {"project_id": str(project.pk)})
    assert answer.status_code == status, answer.json()
    return answer.json()


def test_it_has_notes_sessions_memories_and_counts(alice_api, project, of_ada):
    found = person(alice_api, project, "ada")

    (notes,) = found["agent_memories"]
    assert (notes["agent_id"], notes["profile"]) == ("agent", "Works at night")
    assert [each["text"] for each in notes["constraints"]] == ["Never push"]
    assert [each["key"] for each in found["sessions"]] == ["main"]
    assert [each["content"] for each in found["memories"]] == [
        "Ada prefers Go for servers"
    ]
    assert found["counts"] == dict(zip(COUNTS, (1, 2, 1, 3, 1), strict=True))


def test_of_a_user_who_does_not_exist_nothing_is_known(alice_api, project, of_ada):
    found = person(alice_api, project, "nobody")

    assert found["counts"] == dict.fromkeys(COUNTS, 0)
    assert found["sessions"] == found["memories"] == found["agent_memories"] == []


def test_the_anonymous_user_has_sessions_and_no_memories(
    alice_api, project, session_api, of_ada
):
    session_api.bootstrap("anonymous")

    found = person(alice_api, project, "0")

    assert [each["key"] for each in found["sessions"]] == ["anonymous"]
    assert found["counts"]["memories"] == 0


def test_hidden_messages_and_superseded_memories_are_not_counted(
    alice_api, project, session_api, of_ada
):
    session_api.delete("sessions/main/messages", from_seq=2)

    assert person(alice_api, project, "ada")["counts"]["messages"] == 1


def test_an_id_with_slashes_and_spaces_is_a_user_too(alice_api, project, session_api):
    session_api.bootstrap("main", user_id="acme/ada lovelace")

    found = person(alice_api, project, "acme/ada lovelace")

    assert found["user_id"] == "acme/ada lovelace"
    assert found["counts"]["sessions"] == 1


def test_a_bound_key_reads_its_own_user_and_gets_404_for_every_other(
    client_of, project, of_ada
):
    own = client_of(project, role=Role.WRITER, user_id="ada")
    other = client_of(project, role=Role.WRITER, user_id="bea")

    assert person(own, project, "ada")["counts"]["sessions"] == 1
    known = person(other, project, "ada", 404)
    unknown = person(other, project, "nobody", 404)
    assert known["detail"] == unknown["detail"]


def test_a_key_bound_to_an_agent_reads_what_that_agent_has(client_of, project, of_ada):
    other = client_of(project, role=Role.WRITER, agent_id="other")

    found = person(other, project, "ada")

    assert found["counts"]["sessions"] == found["counts"]["agent_memories"] == 0
    assert found["counts"]["messages"] == found["counts"]["changes"] == 0


def test_charlie_does_not_see_the_project(charlie_api, project, of_ada):
    person(charlie_api, project, "ada", 404)


def test_a_purge_leaves_nothing_to_know(
    alice_api, project, session_api, of_ada, run_jobs
):
    session_api.post("purge", user_id="ada", reason="asked for")
    run_jobs()

    found = person(alice_api, project, "ada")

    assert "Works at night" not in str(found)
    assert found["counts"] | {"changes": 0} == dict.fromkeys(COUNTS, 0)

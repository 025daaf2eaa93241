"""Nobody takes a session that another person's key wrote, and nobody locks one by writing first."""

from __future__ import annotations

import pytest

from common.caller import Role
from conversations.models import Message, Session
from memories.models import Memory
from tests.conversations.conftest import SessionApi, say
from tests.conversations.transcripts.test_claude_code import WORK
from tests.conversations.transcripts.test_route import TranscriptApi, raw

pytestmark = pytest.mark.django_db


@pytest.fixture
def key_of(client_of, project):
    """Return the API of a new writer's key."""

    def key_of(**fields):
        fields = {"role": Role.WRITER} | fields
        return SessionApi(client_of(project, **fields), project)

    return key_of


def test_a_bound_key_claims_no_session_that_another_key_wrote(key_of):
    key_of().bootstrap("main")

    answer = key_of(user_id="42").post("sessions/main/claim", user_id="42")

    assert (answer.status_code, answer.json()["code"]) == (409, "session_identity")
    assert Session.objects.get().user_id == ""
    server = key_of(acts_for_users=True)
    assert server.post("sessions/main/claim", user_id="42").status_code == 200


def test_who_writes_first_in_the_name_of_a_user_locks_nothing(key_of):
    stranger, own = key_of(), key_of(user_id="42")
    first = stranger.bootstrap("main", agent_id="other", user_id="42")
    stranger.append(say("Obey me."), user_id="42")

    own.append(say("Hello"), agent_id="agent")

    assert [m["content"] for m in own.history()] == ["Hello"]
    aside = Session.objects.get(pk=first["id"])
    assert aside.key.startswith("main ")
    refused = stranger.post(
        "sessions/main/messages", messages=[say("Again.")], user_id="42"
    )
    assert (refused.status_code, refused.json()["code"]) == (409, "session_identity")


def test_the_memories_of_a_user_stay_when_a_strangers_session_is_set_aside(key_of):
    stranger, own = key_of(), key_of(user_id="42")
    scope = {"kind": "session", "session_id": "main"}
    own.post("memories", content="The harbour opens at six in summer.", scope=scope)
    stranger.bootstrap("main", agent_id="other", user_id="42")

    own.append(say("Hello"), agent_id="agent")

    assert Memory.objects.get().scope == scope | {"user_id": "42"}


def test_a_stranger_reads_a_session_of_a_user_and_changes_nothing(key_of):
    stranger, own = key_of(), key_of(user_id="42")
    curator = key_of(role=Role.CURATOR)
    own.append(say("Hello"), say("Bye"), agent_id="agent")
    before = Session.objects.values().get()
    changes = {
        "title": lambda api: api.patch("sessions/main", title="mine"),
        "undo": lambda api: api.delete("sessions/main/messages", from_seq=2),
        "redaction": lambda api: api.post(
            "sessions/main/messages/1/redact", reason="x"
        ),
        "compaction": lambda api: api.post("sessions/main/compact"),
        "snapshot": lambda api: api.post("sessions/main/snapshot/advance"),
        "end": lambda api: api.post("conversations/main/end", user="42"),
        "archive": lambda api: api.delete("sessions/main"),
    }
    for name, change in changes.items():
        answer = change(stranger)

        assert b"session_identity" in answer.content, name
    assert [m["content"] for m in stranger.history()] == ["Hello", "Bye"]
    assert Session.objects.values().get() == before
    for name, change in changes.items():
        assert change(curator).status_code < 300, name


def test_a_transcript_that_a_stranger_began_is_sent_by_the_user(
    key_of, client_of, project
):
    stranger = TranscriptApi(client_of(project, role=Role.WRITER), project)
    own = TranscriptApi(client_of(project, role=Role.WRITER, user_id="42"), project)
    stranger.sent(raw(WORK[:1]), user_id="42")

    assert own.sent(raw(WORK))["messages"] == 5

    assert stranger.send(raw(WORK), user_id="42").status_code == 409
    assert Message.objects.filter(session__key="5a1f").count() == 5


def test_a_key_that_acts_for_users_writes_the_sessions_of_the_user(key_of):
    server, own = key_of(acts_for_users=True), key_of(user_id="42")
    server.bootstrap("main", user_id="42")
    server.append(say("Hello"), user_id="42")

    own.append(say("Again"), agent_id="agent")

    assert [m["content"] for m in own.history()] == ["Hello", "Again"]

"""Nobody takes a session that another person's key wrote, and nobody locks one by writing first."""

from __future__ import annotations

import pytest

from common.caller import Role
from conversations.models import Message, Session
from tests.conversations.conftest import SessionApi, say
from tests.conversations.transcripts.test_claude_code import WORK
from tests.conversations.transcripts.test_route import TranscriptApi, raw

pytestmark = pytest.mark.django_db


@pytest.fixture
def key_of(client_of, project):
    """Return the API of a new writer's key."""

    def key_of(**fields):
        return SessionApi(client_of(project, role=Role.WRITER, **fields), project)

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

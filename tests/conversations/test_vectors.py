"""A job embeds the words of messages and the summaries, by the model that is active."""

from __future__ import annotations

import pytest

from conversations.models import Message, MessageVector, SummaryVector
from inference.embedding import active_model
from inference.models import ActiveModel
from jobs.models import Job
from tests.conversations.conftest import call, result, say, talk

pytestmark = pytest.mark.django_db


def test_words_are_embedded_and_results_of_tools_are_not(session_api, run_jobs):
    session_api.bootstrap()
    session_api.append(
        say("Go"), call("c1"), result("c1", "a.py"), say("", "assistant")
    )

    run_jobs()

    embedded = MessageVector.objects.values_list("message__seq", flat=True)
    assert list(embedded) == [1]


def test_summaries_are_embedded(session_api, run_jobs):
    session_api.bootstrap()
    session_api.append(*talk(40))
    session_api.post("sessions/main/compact", mode="full")

    run_jobs()

    assert SummaryVector.objects.exists()


def test_the_first_vector_makes_its_model_the_active_one(session_api, run_jobs):
    session_api.bootstrap()
    session_api.append(say("Go"))

    run_jobs()

    assert ActiveModel.objects.get().name == MessageVector.objects.get().model


@pytest.mark.parametrize("kind", ["embed_messages", "embed_summaries"])
def test_a_vector_of_a_model_that_was_replaced_is_made_again(
    session_api, run_jobs, monkeypatch, kind
):
    session_api.bootstrap()
    session_api.append(*talk(40))
    session_api.post("sessions/main/compact", mode="full")
    is_active, asked = active_model.is_active, []

    def once_inactive(vector, *args):
        asked.append(vector)
        return is_active(vector, *args) and len(asked) > 1

    monkeypatch.setattr(active_model, "is_active", once_inactive)
    Job.objects.exclude(kind=kind).delete()
    run_jobs()

    assert Job.objects.filter(kind=kind, state="done").count() == 2


def test_a_message_that_is_redacted_has_no_vector(session_api, run_jobs):
    session_api.bootstrap()
    session_api.append(say("The customer lives in Elm Street 5."))
    run_jobs()

    session_api.post("sessions/main/messages/1/redact", reason="personal")
    run_jobs()

    assert not MessageVector.objects.exists()
    assert Message.objects.get().has_words is False

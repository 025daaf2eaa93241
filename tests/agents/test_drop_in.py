"""With memory and without: the same contract, and a stream that any client reads."""

from __future__ import annotations

import httpx_sse
import pytest

from tests.agents.scripted_endpoint import say
from tests.conversations.conftest import SessionApi
from tests.support.streams import read_stream

ANSWER = "Thought: I know it.\nFinal Answer: 42"
# What a run with memory may add to an answer, and never takes away.
OWN = {"run_id", "memory", "tokens"}


@pytest.fixture
def api(alice_api, project):
    return SessionApi(alice_api, project)


class Response:
    """What `httpx_sse` reads of a response."""

    def __init__(self, response):
        self.headers = {"content-type": response["Content-Type"]}
        self._chunks = [read_stream(response)]

    def iter_lines(self):
        yield from b"".join(self._chunks).decode().splitlines()

    def iter_text(self):
        yield b"".join(self._chunks).decode()

    def iter_bytes(self):
        yield b"".join(self._chunks)


@pytest.mark.django_db
def test_an_answer_differs_only_in_what_memory_adds(api, model):
    model.script(say(ANSWER), say(ANSWER))

    plain, remembered = (
        api.post("agents/react-mem", question="Why?", enable_memory=enabled).json()
        for enabled in (False, True)
    )

    assert set(plain) == set(remembered)
    assert {n: v for n, v in plain.items() if n not in OWN} == {
        n: v for n, v in remembered.items() if n not in OWN
    }


@pytest.mark.django_db
def test_without_anything_to_remember_the_prompts_are_the_same(api, model):
    """Apart from the tools of memory, which a run without memory is not offered."""
    model.script(say(ANSWER), say(ANSWER))

    for enabled in (False, True):
        api.post("agents/react-mem", question="Why?", enable_memory=enabled)

    plain, remembered = map(str.splitlines, model.prompts)
    assert set(plain) - set(remembered) <= {"Tools: none", ""} | {
        line for line in plain if "tool" in line.lower()
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("enabled", [False, True])
def test_an_ordinary_client_reads_the_stream(api, model, enabled):
    model.script(say(ANSWER, piece=1, write=1))
    response = api.post(
        "agents/react-mem", question="Why?", enable_memory=enabled, streaming=True
    )

    events = list(httpx_sse.EventSource(Response(response)).iter_sse())

    assert [each.event for each in events][-1] == "answer"
    chunks = [each.json() for each in events]
    wanted = {
        "message_type",
        "content",
        "end_of_message",
        "end_of_dialog",
        "message_id",
    }
    assert all(wanted <= set(chunk) for chunk in chunks)
    said = "".join(c["content"] for c in chunks if c["message_type"] == "answer")
    assert said == "42"

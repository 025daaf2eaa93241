"""A run calls the tools of its project, and what they say reaches the model as data."""

from __future__ import annotations

import json

import pytest

from tests.agents.scripted_endpoint import say
from tests.conversations.conftest import SessionApi

pytestmark = pytest.mark.django_db
DONE = "Thought: I know.\nFinal Answer: done"
KEY = "crm-key-0123456789-abcdef"


@pytest.fixture
def ask(alice_api, project):
    def ask(**fields):
        api = SessionApi(alice_api, project)
        answer = api.post("agents/react-mem", question="What is the weather?", **fields)
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return ask


def act(name, **arguments):
    return say(f"Thought: I look.\nAction: {name}\nArgs: {json.dumps(arguments)}")


def test_an_http_tool_is_called_with_its_secret(ask, model, tools_api, server):
    tools_api.put_secret("crm", KEY)
    server.answers(body=f"7 degrees, for {KEY}")
    headers = {"X-Key": "{secret:crm}"}
    url = f"{server.url}/w/{{city}}"
    tools_api.put_http("weather", url, arguments=["city"], headers=headers)
    model.script(act("weather", city="São Paulo"), say(DONE))

    body = ask()

    (step,) = body["steps"]
    assert server.last.path == "/w/S%C3%A3o%20Paulo"
    assert server.last.headers["x-key"] == KEY
    assert step["observation"].startswith("7 degrees, for [secret:")
    assert KEY not in json.dumps(body)
    assert all(KEY not in prompt for prompt in model.prompts)


def test_a_failure_is_an_observation_and_the_run_goes_on(ask, model, tools_api, server):
    server.answers(500, "broken")
    tools_api.put_http("weather", f"{server.url}/w", arguments=["city"])
    model.script(act("weather"), act("weather", city="Rome"), say(DONE))

    body = ask()

    assert [step["is_error"] for step in body["steps"]] == [True, True]
    assert "city is missing" in body["steps"][0]["observation"]
    assert "Error: The server answered 500. broken" in model.prompts[2]
    assert body["answer"] == "done"


def test_a_tool_that_changes_something_waits_for_a_person(
    ask, model, tools_api, server
):
    tools_api.put_http("order", f"{server.url}/orders", "POST", ["what"])
    model.script(act("order", what="tea"), say(DONE))

    body = ask()

    assert body["status"] == "confirming"
    assert server.received == []


def test_only_the_tools_of_the_group_and_the_state_are_offered(
    ask, model, tools_api, server
):
    tools_api.put_http("billing_tool", f"{server.url}/b", groups=["billing"])
    tools_api.put_http("open_tool", f"{server.url}/o", states=["open"])
    model.script(say(DONE), say(DONE))

    ask()
    ask(group=["billing"], state="open")

    plain, billing = model.prompts
    assert "billing_tool" not in plain
    assert "open_tool" not in plain
    assert "billing_tool" in billing


def test_a_conversation_has_the_memory_tool_of_its_session(ask, model):
    note = {"action": "profile_update", "content": "Works at the harbour."}
    model.script(act("memory", **note), say(DONE))

    body = ask(enable_memory=True, conversation_id="talk", user="u1")

    (step,) = body["steps"]
    assert step["observation"] == "Profile updated."

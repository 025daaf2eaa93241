"""A run calls the tools of its project, and what they say reaches the model as data."""

from __future__ import annotations

import json

import pytest

from agents.models import AgentRun
from tests.agents.scripted_endpoint import say
from tests.agents.tools.scripted_mcp import FIND, offers
from tests.conversations.conftest import SessionApi

pytestmark = pytest.mark.django_db
DONE = "Thought: I know.\nFinal Answer: done"
KEY = "crm-key-0123456789-abcdef"
READ = {**FIND, "annotations": {"readOnlyHint": True}}


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


def test_a_tool_is_called_with_its_secret(ask, model, tools_api, server, settings):
    settings.AGENT_TOOL_SECRETS = {"AGENT_TOOL_CRM": f"127.0.0.1:{server.port} {KEY}"}
    offers(server, READ, said=f"7 degrees, for {KEY}")
    headers = {"X-Key": "${AGENT_TOOL_CRM}"}
    tools_api.put("weather", url=f"{server.url}/mcp", headers=headers)
    model.script(act("weather_find"), say(DONE))

    body = ask()

    (step,) = body["steps"]
    assert server.last.headers["x-key"] == KEY
    assert step["observation"] == "7 degrees, for [secret:AGENT_TOOL_CRM]"
    assert KEY not in json.dumps(body)
    assert all(KEY not in prompt for prompt in model.prompts)
    assert KEY not in str(list(AgentRun.objects.values()))


def test_a_failure_is_an_observation_and_the_run_goes_on(ask, model, tools_api, server):
    offers(server, READ)
    tools_api.put("weather", url=f"{server.url}/mcp")
    model.script(act("weather_find", city="Rome"), say(DONE))

    body = ask()

    (step,) = body["steps"]
    assert step["is_error"] is True
    assert "unknown argument city" in step["observation"]
    assert body["answer"] == "done"


def test_a_tool_that_may_change_something_waits_for_a_person(
    ask, model, tools_api, server
):
    offers(server, FIND)
    tools_api.put("orders", url=f"{server.url}/mcp")
    model.script(act("orders_find"), say(DONE))

    body = ask()

    assert body["status"] == "confirming"
    assert "tools/call" not in str(server.received)


def test_only_the_tools_of_the_group_and_the_state_are_offered(ask, model, put_listed):
    put_listed("billing", groups=["billing"])
    put_listed("open", states=["open"])
    model.script(say(DONE), say(DONE))

    ask()
    ask(group=["billing"], state="open")

    plain, billing = model.prompts
    assert "billing_find" not in plain
    assert "open_find" not in plain
    assert "billing_find" in billing


def test_a_conversation_has_the_memory_tool_of_its_session(ask, model):
    note = {"action": "profile_update", "content": "Works at the harbour."}
    model.script(act("memory", **note), say(DONE))

    body = ask(enable_memory=True, conversation_id="talk", user="u1")

    (step,) = body["steps"]
    assert step["observation"] == "Profile updated."

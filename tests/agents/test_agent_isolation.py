"""One backend key serves two users: nothing of one reaches the other, in answers or prompts."""

from __future__ import annotations

import json

import pytest

from agents.models import AgentRun
from common.caller import Role
from playbook.models import PlaybookDelta, PlaybookEntry
from tests.agents.scripted_endpoint import say
from tests.conversations.conftest import SessionApi

pytestmark = pytest.mark.django_db
# The word of Ana's that nobody else may read; no other text has it.
MARK = "zanzibar"
ANSWER = say("Thought: I know it.\nFinal Answer: done")
QUESTION = "Where does the deploy of the ship go?"


def act(thought, action, **arguments):
    return say(f"Thought: {thought}\nAction: {action}\nArgs: {json.dumps(arguments)}")


@pytest.fixture
def backend(client_of, project):
    """The key of a backend that asks for all of its users."""
    return SessionApi(client_of(project, role=Role.OWNER), project)


@pytest.fixture
def ana(backend, model, run_jobs):
    """Ana's traces: facts, an episode, a conversation, a run, notes, a changed playbook."""
    model.script(
        act(
            f"I note {MARK}",
            "StoreFact",
            fact_content=f"The ship goes to {MARK}-one.",
            quote=f"It is {MARK}-one.",
        ),
        act("I look", "RecallEpisodes", query=f"deploy of the ship {MARK}"),
        say(f"Thought: so\nFinal Answer: The deploy of the ship goes to {MARK}."),
    )
    question = f"{QUESTION} It is {MARK}-one. Always name the port {MARK} first."
    run = backend.post(
        "agents/react-mem",
        question=question,
        user="ana",
        conversation_id="ships",
        enable_memory=True,
        task=True,
    ).json()
    assert run["status"] == "done", run
    fact = {"content": f"Ana likes {MARK}-two", "user": "ana"}
    episode = {
        "goal": f"{QUESTION} {MARK}-three",
        "steps": [f"ask {MARK}"],
        "outcome": f"{MARK}-four",
        "lessons": f"Deploy the ship to {MARK}-five",
        "user": "ana",
    }
    ids = {
        "run": run["run_id"],
        "fact": backend.post("facts", **fact).json()["fact_id"],
        "episode": backend.post("episodes", **episode).json()["episode_id"],
    }
    backend.put(
        "agent-memory/profile",
        text=f"Ana sails to {MARK}-six",
        user_id="ana",
        agent_id="react-mem",
    )
    run_jobs()
    assert MARK in AgentRun.objects.get().answer
    return ids


def test_no_prompt_for_ben_has_anything_of_anas(backend, ana, model, run_jobs):
    before = len(model.prompts)
    model.script(
        act("look", "RetrieveFacts", query=QUESTION),
        act("look", "RecallEpisodes", query=QUESTION),
        ANSWER,
        ANSWER,
        ANSWER,
    )

    for user, conversation in (("ben", "ships"), ("ben", "other"), ("", "ships")):
        answer = backend.post(
            "agents/react-mem",
            question=QUESTION,
            user=user,
            conversation_id=conversation,
            enable_memory=True,
        )
        assert answer.json()["status"] == "done", answer.json()
        assert MARK not in answer.content.decode()
    run_jobs()

    prompts = model.prompts[before:]
    assert len(prompts) >= 5
    assert not [prompt for prompt in prompts if MARK in prompt]
    assert not [each for each in model.json_prompts[before:] if MARK in each]


def test_ana_is_given_her_own(backend, ana, model):
    model.script(ANSWER)

    backend.post(
        "agents/react-mem",
        question=QUESTION,
        user="ana",
        conversation_id="new",
        enable_memory=True,
    )

    assert MARK in model.prompts[-1]


def test_no_route_that_names_ben_answers_with_anything_of_anas(backend, ana):
    ben = {"user": "ben"}
    answers = [
        backend.post("facts/retrieve", query=f"{QUESTION} {MARK}", top_k=50, **ben),
        backend.post("episodes/retrieve", query=f"{QUESTION} {MARK}", top_k=50, **ben),
        backend.post("episodes/search", query=f"{QUESTION} {MARK}", **ben),
        backend.post("context/invocation", question=QUESTION, **ben),
        backend.get("conversations/ships", **ben),
        backend.get("agents/runs", **ben),
        backend.get("users/ben/memory"),
    ]

    for answer in answers:
        assert MARK not in answer.content.decode(), answer.wsgi_request.path


def test_a_key_of_bens_cannot_read_anas_rows_by_id(ana, client_of, project):
    bound = SessionApi(client_of(project, role=Role.OWNER, user_id="ben"), project)
    paths = [
        f"agents/runs/{ana['run']}",
        f"agents/runs/{ana['run']}/events",
        f"facts/{ana['fact']}",
        f"episodes/{ana['episode']}",
    ]

    for path in paths:
        assert bound.client.get(f"/api/v1/{path}").status_code == 404, path
    assert bound.get("conversations/ships", user="ana").status_code == 404
    assert bound.get("conversations/ships").status_code == 404


def test_no_rule_of_anas_run_is_live(ana, project):
    rules = PlaybookEntry.objects.filter(project=project, content__icontains=MARK)

    assert not rules.exists()
    for delta in PlaybookDelta.objects.filter(project=project):
        assert delta.status == PlaybookDelta.DeltaStatus.PENDING

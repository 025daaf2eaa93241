"""Demands of document 004, the layers of an agent's memory."""

from __future__ import annotations

from contextlib import suppress

import pytest

from agents.learning.conversation_job import end_conversation
from agents.steps import AgentStep
from agents.tiers.fact_gate import check_fact
from agents.tools.choose import choose_tools
from agents.tools.tool import ToolContext, ToolFailure
from agents.working_memory import WorkingMemory
from conversations.invocations.record import append_invocation, begin_conversation
from jobs.models import Job
from memories.models import Memory
from memories.scopes import Scope
from memories.store import write
from memories.store.drafts import Draft
from projects.options import AgentSettings
from tests.agents.runs import make_run, step
from tests.agents.scripted_endpoint import say

pytestmark = pytest.mark.django_db
CRANE = "The harbour crane is painted yellow."
TALK = (
    ("Our staging port is 6543. Are you there?", "Yes, I am."),
    ("Why does the build of billing fail?", "A token of the build is missing."),
    ("Where does the build read the token?", "The build reads it from the vault."),
    ("Is the build green now?", "Yes, the build is green."),
)


def test_a_finished_task_is_recalled_as_an_episode(api, finish):
    goal = "Make the invoice export retry"
    finish(goal, outcome="success")

    found = api.post("episodes/retrieve", query=goal).json()

    assert [one["goal"] for one in found["episodes"]] == [goal]


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="issue 48: one conversation, one history"
)
def test_what_was_said_in_a_session_is_given_in_its_conversation(api):
    api.bootstrap("talk", agent_id="react-mem")
    api.append({"role": "user", "content": CRANE}, key="talk")

    given = api.post(
        "context/invocation", question="What colour?", conversation_id="talk"
    )

    assert CRANE in str(given.json()["parts"])


def test_the_first_turn_of_a_conversation_is_given_a_context(api):
    given = api.post(
        "context/invocation", question="What colour?", conversation_id="new"
    )

    assert given.status_code == 200


def test_a_condensed_memory_has_the_result_of_each_step():
    memory = WorkingMemory()
    results = ("110 orders", "215 orders", "47 refunds")
    for number, result in enumerate((*results, "3 errors", "9 rows")):
        rest = f"The oldest is number {number * 131 + 7001}. " + "It looks fine. " * 30
        arguments = {"table": f"stage_{number}"}
        memory.append(AgentStep("", "Count", arguments, f"I found {result}. {rest}"))

    memory.condense(AgentSettings(working_memory_threshold=300, keep_last_steps=2))

    assert [each for each in results if each not in memory.condensed] == []
    assert "Expand for" not in memory.condensed


def test_the_agent_stores_a_fact_by_its_content_alone(project, alice):
    run = make_run(
        project, status="running", user_id="mia", request={"question": CRANE}
    )
    context = ToolContext(
        project, alice, user_id="mia", run_id=run.pk, session=None, has_memory=True
    )
    tools = choose_tools(project, alice, group=[], state="", has_memory=True)
    [store] = [tool for tool in tools if tool.name == "StoreFact"]

    with suppress(ToolFailure):
        store.call({"fact_content": CRANE}, context)

    assert [one.content for one in Memory.objects.all()] == [CRANE]


def test_a_loop_of_equal_calls_is_no_episode(project, learn):
    steps = [
        step("RecallEpisodes", "No episodes found.", arguments={"query": "x"})
    ] * 10
    error = {"type": "agent-error", "message": "Too many agent iterations"}
    run = make_run(
        project, user_id="mia", steps=steps, status="failed", answer="", error=error
    )

    assert learn(run)["episode"] is None


@pytest.fixture
def end(run_jobs, alice):
    """End a conversation and let a worker learn from it; return the result of its job."""

    def act(session):
        end_conversation(session, alice)
        run_jobs()
        return Job.objects.filter(kind="agent_conversation").latest("pk").result

    return act


def test_a_fact_that_was_used_outlives_its_conversation_without_a_user(
    project, alice, api, end
):
    lobby = begin_conversation(project, "lobby", "", alice)
    scope = Scope("session", "lobby")
    draft = Draft(content=CRANE, kind="fact", memory_type="learning", scope=scope)
    fact = write.store(project, draft, alice).memory
    given = {"facts": [str(fact.pk)]}
    make_run(project, lobby, answer="The harbour crane is yellow.", memory=given)

    end(lobby)

    found = api.post("facts/retrieve", query="harbour crane").json()["facts"]
    assert [one["content"] for one in found] == [CRANE]


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="issue 48: the episode of a conversation"
)
def test_the_episode_of_a_conversation_is_about_its_theme(project, alice, end):
    talk = begin_conversation(project, "talk", "mia", alice)
    for query, result in TALK:
        append_invocation(talk, query, "answered", result, alice)

    episode = Memory.objects.get(pk=end(talk)["episode"])

    assert "build" in episode.goal


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="issue 48: a conversation is deleted whole",
)
def test_a_deleted_conversation_is_gone(api, project, alice):
    talk = begin_conversation(project, "talk", "mia", alice)
    append_invocation(talk, CRANE, "answered", "Yes.", alice)

    api.delete("conversations/talk", user="mia")

    assert api.get("conversations/talk", user="mia").status_code == 404
    assert api.get("sessions/talk", user_id="mia").status_code == 404


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="issue 48: memory tools can be turned off",
)
def test_a_deployment_can_turn_the_memory_tools_off(api, project, alice):
    names = [name for name in api.get("agents/config").json() if "tool" in name]
    assert names, "No setting is about tools."

    api.put("agents/config", **{names[0]: False})

    project.refresh_from_db()
    assert not choose_tools(project, alice, group=[], state="", has_memory=True)


@pytest.mark.parametrize(
    "text",
    [
        "The user's home is Gartenstrasse 5 in Berlin.",
        "The user's doctor says that the user has diabetes.",
    ],
)
def test_no_fact_has_personal_data(text):
    assert check_fact(text, is_users_word=True) is not None


def test_the_working_memory_of_a_run_ends_with_it(api, model):
    fact = 'Thought: look.\nAction: RetrieveFacts\nArgs: {"query": "crane"}'
    end = "Thought: known.\nFinal Answer: Yellow."
    model.script(say(fact), say(end), say(end))

    for _ in range(2):
        api.post("agents/react-mem", question="What colour?", enable_memory=True)

    _, again, of_second = model.prompts
    assert "No facts found." in again
    assert "No facts found." not in of_second


def test_a_request_to_the_agent_has_the_fields_of_the_seed(api, model):
    model.script(say("Thought: known.\nFinal Answer: Yellow."))
    fields = {"question": "What colour?", "history": [], "user": "mia"}
    fields |= {"streaming": False, "state": "at night", "group": ["default"]}

    answer = api.post(
        "agents/react-mem", **fields, conversation_id="talk", enable_memory=True
    )

    assert answer.status_code == 200
    assert answer.json()["answer"] == "Yellow."


@pytest.mark.parametrize(
    ("path", "body", "name"),
    [
        ("facts/retrieve", {"query": "crane"}, "facts"),
        ("episodes/retrieve", {"query": "crane"}, "episodes"),
        ("facts", {"content": CRANE}, "fact_id"),
        ("episodes", {"goal": "Paint the crane"}, "episode_id"),
        (
            "conversations/talk/invocations",
            {"query": "What colour?", "summary": "Looked.", "result": "Yellow."},
            "success",
        ),
    ],
)
def test_each_memory_service_of_the_seed_answers(api, path, body, name):
    answer = api.post(path, **body).json()

    assert name in answer
    assert answer["error"] is None

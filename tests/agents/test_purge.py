from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from agents.models import AgentRun, AgentTool, ToolSecret
from conversations.models import Invocation, Session
from jobs import queue
from memories.models import Memory
from projects import deletion
from projects.models import Project
from tests.agents.scripted_endpoint import say
from tests.agents.test_facts import STAGING, SeedApi

pytestmark = pytest.mark.django_db
MARK = "quokkazed"


@pytest.fixture
def seed(alice_api):
    return SeedApi(alice_api)


def make_run(project, user="", session=None, **fields):
    step = {"thought": MARK, "action": "Search", "observation": f"{MARK} {STAGING}"}
    return AgentRun.objects.create(
        project=project,
        user_id=user,
        session_id=session,
        agent_id="react-mem",
        request={"question": f"{MARK}?"},
        answer=f"{MARK}!",
        **{"status": "done", "steps": [step], **fields},
    )


def purge(seed, **selection):
    return seed.client.post(
        "/api/v1/purge", {"project": "alpha", "reason": "asked", **selection}
    )


class TestAUser:
    def test_the_runs_of_the_user_go_and_others_stay(self, seed, project):
        make_run(project, "ann")
        ben = make_run(project, "ben")

        answer = purge(seed, user_id="ann")

        assert answer.status_code == 200, answer.json()
        assert list(AgentRun.objects.all()) == [ben]

    def test_a_repeated_request_of_a_purged_run_is_404_and_asks_no_model(
        self, seed, project, model
    ):
        model.script(say("Final Answer: 42"))
        body = {"question": "Why?", "user": "ann", "project_id": "alpha"}

        def ask():
            headers = {"Idempotency-Key": "k-1"}
            return seed.client.post("/api/v1/agents/react-mem", body, headers=headers)

        assert ask().status_code == 200
        assert purge(seed, user_id="ann").status_code == 200
        again = ask()

        assert (again.status_code, again.json()["code"]) == (404, "not_found")
        assert "purged" in again.json()["error"]["message"]
        assert len(model.prompts) == 1

    def test_a_run_that_is_at_work_refuses_the_purge(self, seed, project):
        make_run(project, "ann", status="running")

        answer = purge(seed, user_id="ann")

        assert (answer.status_code, answer.json()["code"]) == (409, "run_unfinished")
        assert AgentRun.objects.exists()

    def test_a_run_whose_process_has_died_does_not(self, seed, project):
        long_ago = timezone.now() - timedelta(hours=1)
        make_run(project, "ann", status="running", alive_at=long_ago)

        assert purge(seed, user_id="ann").status_code == 200
        assert not AgentRun.objects.exists()


def test_a_purge_of_a_session_takes_its_runs_and_invocations(seed, project):
    seed.post("conversations/chat-7/invocations", query=MARK, user="ann")
    make_run(project, "ann", Session.objects.get().pk)
    other = make_run(project, "ann")

    answer = purge(seed, session_id="chat-7")

    assert answer.status_code == 200, answer.json()
    assert list(AgentRun.objects.all()) == [other]
    assert not Invocation.objects.exists()


def test_what_other_runs_were_told_of_a_purged_fact_is_masked(seed, project):
    fact = seed.store()["fact_id"]
    seed.post("conversations/chat-7/invocations", query="Where?", result=STAGING)
    told = make_run(project, memory={"facts": [fact]})
    Invocation.objects.update(run_id=told.pk)
    untold = make_run(project, memory={"facts": []})

    answer = purge(seed, ids=[fact])

    assert answer.status_code == 200, answer.json()
    told.refresh_from_db()
    untold.refresh_from_db()
    assert STAGING not in str(told.steps)
    assert told.steps[0]["action"] == "Search"
    assert told.answer.startswith("[purged]")
    assert Invocation.objects.get().result.startswith("[purged]")
    assert STAGING in str(untold.steps)


def test_a_purge_of_a_fact_that_a_run_stored_itself_masks_its_steps(
    seed, project, model
):
    call = json.dumps({"fact_content": STAGING, "quote": STAGING})
    model.script(
        say(f"Thought: I note it.\nAction: StoreFact\nArgs: {call}"),
        say("Final Answer: noted"),
    )
    body = {
        "question": f"Remember: {STAGING}",
        "user": "ann",
        "enable_memory": True,
        "project_id": "alpha",
    }
    answer = seed.client.post("/api/v1/agents/react-mem", body)
    assert answer.json()["answer"] == "noted", answer.json()

    answer = purge(seed, ids=[str(Memory.objects.get().pk)])

    assert answer.status_code == 200, answer.json()
    run = AgentRun.objects.get()
    assert STAGING not in str(run.steps)
    assert run.answer.startswith("[purged]")


def test_a_deleted_project_takes_runs_tools_and_secrets_along(
    seed, project, run_jobs, other_project
):
    make_run(project)
    kept = make_run(other_project)
    AgentTool.objects.create(project=project, kind="http", name="look")
    ToolSecret.objects.create(project=project, name="token", encrypted_value="x")
    seed.post("conversations/chat-7/invocations", query=MARK)
    seed.client.patch("/api/v1/users/42/memory", {"project": "alpha", "enabled": False})
    Project.objects.filter(pk=project.pk).update(delete_after=timezone.now())

    queue.enqueue(deletion.KIND, project_id=project.pk, key=str(project.pk))
    run_jobs()

    assert list(AgentRun.objects.all()) == [kept]
    assert not AgentTool.objects.exists()
    assert not ToolSecret.objects.exists()
    assert not Invocation.objects.exists()

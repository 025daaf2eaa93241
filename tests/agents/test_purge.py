from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db.models import Value
from django.utils import timezone

from agents.models import AgentRun, AgentTool
from agents.recall.recalled_memory import RecalledMemory
from agents.runs import execute
from common.caller import SYSTEM
from common.ids import uuid7
from conversations.formats.message import ChatMessage
from conversations.messages.append import append, prepare
from conversations.messages.fork import fork
from conversations.models import (
    Invocation,
    Message,
    MessageVector,
    Session,
    Summary,
    new_summary_id,
)
from conversations.sessions.lifecycle import SessionDraft, bootstrap
from jobs import queue
from jobs.models import Job
from memories.models import Memory
from memories.scopes import Scope
from memories.store import write
from memories.store.drafts import Draft
from projects import deletion
from projects.models import Project
from tests.agents.runs import facts, said
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


class TestARunThatWasToldAndIsAtWork:
    """What it does next would bring back what the purge erases."""

    def refuse(self, seed, fact):
        answer = purge(seed, ids=[fact])

        assert (answer.status_code, answer.json()["code"]) == (409, "run_unfinished")
        assert Memory.objects.get().content == STAGING

    @pytest.mark.parametrize("status", ["running", "queued"])
    def test_it_refuses_the_purge(self, seed, project, status):
        fact = seed.store()["fact_id"]
        told = make_run(project, memory={"facts": [fact]}, status=status)

        self.refuse(seed, fact)

        told.refresh_from_db()
        assert STAGING in str(told.steps)

    def test_one_that_a_worker_learns_from_does_too(self, seed, project):
        fact = seed.store()["fact_id"]
        told = make_run(project, memory={"facts": [fact]})
        Job.objects.create(
            kind="agent_invocation",
            key=str(told.pk),
            project_id=project.pk,
            state="running",
            lease_until=timezone.now() + timedelta(minutes=9),
        )

        self.refuse(seed, fact)

    def test_one_whose_process_has_died_does_not(self, seed, project):
        fact = seed.store()["fact_id"]
        long_ago = timezone.now() - timedelta(hours=1)
        make_run(project, memory={"facts": [fact]}, status="running", alive_at=long_ago)

        assert purge(seed, ids=[fact]).status_code == 200
        assert STAGING not in str(AgentRun.objects.get().steps)


class TestWhatARunReadByAToolOrInTheDigest:
    """It was not among the facts and episodes with which the run began."""

    def ask(self, seed, model, *turns):
        model.script(*map(say, turns))
        body = {
            "question": "Which staging database is it?",
            "conversation_id": "chat",
            "enable_memory": True,
            "project_id": "alpha",
        }
        answer = seed.client.post("/api/v1/agents/react-mem", body).json()
        assert answer["status"] == "done", answer
        return answer

    def purge_and_look(self, seed, memory_id):
        assert purge(seed, ids=[memory_id]).status_code == 200
        run = AgentRun.objects.get()
        assert "blue-2" not in str([run.steps, run.answer])
        assert "blue-2" not in str(list(Message.objects.values()))

    @pytest.mark.parametrize(
        ("tool", "tier"), [("RetrieveFacts", "facts"), ("RecallEpisodes", "episodes")]
    )
    def test_a_purge_masks_what_a_tool_found(
        self, seed, project, model, monkeypatch, tool, tier
    ):
        monkeypatch.setattr(execute, "recall", lambda *_, **__: RecalledMemory())
        if tier == "facts":
            found = seed.store()["fact_id"]
        else:
            found = seed.post("episodes", goal=STAGING).json()["episode_id"]

        answer = self.ask(
            seed,
            model,
            f'Action: {tool}\nArgs: {{"query": "staging database"}}',
            f"Final Answer: {STAGING}",
        )

        assert STAGING in answer["steps"][0]["observation"]
        assert answer["memory"][tier] == [found]
        self.purge_and_look(seed, found)

    def test_a_purge_masks_what_the_digest_said(self, seed, project, model):
        scope = Scope("workspace", str(project.pk))
        draft = Draft(content=STAGING, memory_type="learning", scope=scope)
        note = str(write.store(project, draft, SYSTEM).memory.pk)

        answer = self.ask(seed, model, f"Final Answer: {STAGING}")

        assert STAGING in model.prompts[0]
        assert answer["memory"]["digest"] == [note]
        self.purge_and_look(seed, note)


class TestTheMessagesOfARunThatWasTold:
    """The run was given a fact, and repeats it in a call, in its answer and in a summary."""

    @pytest.fixture
    def told(self, seed, model, run_jobs):
        """Return the id of the fact, and the session, which has other messages too."""
        self.ask(seed, model, "Final Answer: The sea is wide.", question="The sea?")
        fact = seed.store(user="ann")["fact_id"]
        call = json.dumps({"query": STAGING})
        self.ask(
            seed,
            model,
            f"Thought: Is it so that {STAGING}\nAction: RetrieveFacts\nArgs: {call}",
            f"Final Answer: {STAGING}",
            question="Which staging database is it?",
        )
        model.script_json(*[said(), facts()] * 2)
        run_jobs()
        assert MessageVector.objects.count() > 3
        assert Message.objects.filter(text__contains=STAGING).count() == 3
        session = Session.objects.get(key="chat")
        summary = Summary.objects.create(
            session=session,
            project_id=session.project_id,
            kind="leaf",
            content=f"They say: {STAGING}",
            tokens=9,
            earliest_at=timezone.now(),
            latest_at=timezone.now(),
            first_seq=3,
            last_seq=5,
            message_count=3,
            summarizer="extractive",
            content_tsv=SearchVector(Value("they say staging")),
        )
        session.messages.filter(seq__gte=3, seq__lte=5).update(leaf=summary)
        return fact, session

    def ask(self, seed, model, *turns, question):
        model.script(*map(say, turns))
        body = {
            "question": question,
            "user": "ann",
            "conversation_id": "chat",
            "enable_memory": True,
            "project_id": "alpha",
        }
        answer = seed.client.post("/api/v1/agents/react-mem", body)
        assert answer.json()["status"] == "done", answer.json()

    def test_no_message_and_no_summary_has_its_words(self, seed, told):
        fact, session = told

        answer = purge(seed, ids=[fact])

        assert answer.status_code == 200, answer.json()
        rows = list(session.messages.values())
        assert STAGING not in str(rows)
        assert "blue-2" not in str(rows)
        assert not Summary.objects.exists()
        assert not MessageVector.objects.filter(message__text__contains="[purged]")
        lexemes = session.messages.filter(content_tsv=SearchQuery("blue-2"))
        assert not lexemes.exists()

    @pytest.mark.parametrize(("summarizer", "left"), [("model", 0), ("extractive", 1)])
    def test_a_summary_by_a_model_that_read_the_one_before_goes_too(
        self, seed, told, summarizer, left
    ):
        fact, _ = told
        later = Summary.objects.get()
        later.pk, later.summary_id = uuid7(), new_summary_id()
        later.first_seq = later.last_seq = 99
        later.summarizer, later.content = summarizer, "As said before."
        later.save(force_insert=True)

        purge(seed, ids=[fact])

        assert Summary.objects.count() == left

    def test_the_others_stay_and_the_pairs_of_calls_and_results_match(self, seed, told):
        fact, session = told

        purge(seed, ids=[fact])

        texts = list(session.messages.values_list("text", flat=True))
        assert texts[:3] == [
            "The sea?",
            "The sea is wide.",
            "Which staging database is it?",
        ]
        call, result = (each.parts[-1] for each in session.messages.all()[3:5])
        assert (call["type"], result["type"]) == ("tool_call", "tool_result")
        assert call["id"] == result["id"]
        assert call["name"] == result["name"] == "RetrieveFacts"

    def test_the_sums_of_the_session_are_those_of_its_messages(self, seed, told):
        fact, session = told

        purge(seed, ids=[fact])

        session.refresh_from_db()
        tokens = session.messages.sum_tokens()
        assert session.message_count == 6
        assert session.token_count == session.context_tokens == tokens

    def test_the_session_goes_on_without_the_words(self, seed, told, model):
        fact, _ = told
        purge(seed, ids=[fact])

        self.ask(seed, model, "Final Answer: I forgot.", question="Which one?")

        assert STAGING not in model.prompts[-1]

    def test_the_copies_in_a_fork_lose_the_words_too(self, seed, told, alice):
        fact, session = told
        fork(session, 6, "other", alice)

        purge(seed, ids=[fact])

        assert not Message.objects.filter(text__contains="blue-2").exists()

    def test_a_message_of_another_user_under_the_name_of_a_run_stays(
        self, seed, told, project, alice
    ):
        fact, session = told
        name = session.messages.exclude(external_id="").last().external_id
        draft = SessionDraft("theirs", agent_id="a", user_id="ben")
        theirs, _ = bootstrap(project, draft, alice)
        message = ChatMessage(
            "user", ({"type": "text", "text": MARK},), external_id=name
        )
        append(project, theirs, prepare(project, [message]), alice)

        purge(seed, ids=[fact])

        assert theirs.messages.get().text == MARK

    def test_a_second_purge_finds_nothing_to_change(self, seed, told):
        fact, _ = told
        purge(seed, ids=[fact])

        again = purge(seed, ids=[fact], dry_run=True)

        assert "conversations_message" not in again.json()["counts"]


def test_a_finished_job_forgets_the_call_that_a_person_allowed(seed, project):
    fact = seed.store()["fact_id"]
    told = make_run(project, memory={"facts": [fact]})
    call = {"action": "Deploy", "arguments": {"to": STAGING}, "thought": STAGING}
    job = Job.objects.create(
        kind="agent_run",
        key=str(told.pk),
        project_id=project.pk,
        args={"run_id": str(told.pk), "allowed": call},
        state="done",
        finished_at=timezone.now(),
    )

    purge(seed, ids=[fact])

    job.refresh_from_db()
    assert STAGING not in str(job.args)
    assert job.args["run_id"] == str(told.pk)
    assert job.args["allowed"]["action"] == "Deploy"


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


def test_a_deleted_project_takes_runs_and_tools_along(
    seed, project, run_jobs, other_project
):
    make_run(project)
    kept = make_run(other_project)
    AgentTool.objects.create(project=project, name="look")
    seed.post("conversations/chat-7/invocations", query=MARK)
    seed.client.patch("/api/v1/users/42/memory", {"project": "alpha", "enabled": False})
    Project.objects.filter(pk=project.pk).update(delete_after=timezone.now())

    queue.enqueue(deletion.KIND, project_id=project.pk, key=str(project.pk))
    run_jobs()

    assert list(AgentRun.objects.all()) == [kept]
    assert not AgentTool.objects.exists()
    assert not Invocation.objects.exists()

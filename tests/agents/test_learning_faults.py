"""A worker is killed at any step, or the model fails: nothing is stored twice, or by halves."""

from __future__ import annotations

import threading

import pytest
from django.utils import timezone

from ace import run as ace_runs
from ace.lessons import episode_lessons
from agents.learning import (
    conversation_episode,
    conversation_job,
    episode,
    fact_candidates,
    facts_from_run,
    invocation_job,
    promotion,
)
from agents.learning.conversation_job import end_conversation
from common.caller import SYSTEM
from conversations.invocations import record
from conversations.models import Invocation, Session
from jobs import runner
from jobs.models import Job
from memories.models import Memory
from memories.store import write
from playbook.models import PlaybookDelta
from tests.agents import scripted_endpoint
from tests.agents.runs import LISBON, VEGAN, facts, make_run, said, step
from tests.agents.scripted_endpoint import fail, say
from tests.faults.conftest import together as together
from tests.faults.test_killed_compactions import die_at, run_and_kill

pytestmark = [
    pytest.mark.django_db(transaction=True),
    # The child only runs one job, on a connection of its own, and is killed.
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


@pytest.fixture
def talk(project, alice):
    return record.begin_conversation(project, "talk", "ulla", alice)


@pytest.fixture
def run(project, talk):
    return make_run(project, talk, steps=[step(), step("Track", is_error=True)])


@pytest.fixture
def job(run):
    invocation_job.enqueue(run)
    return Job.objects.get(kind=invocation_job.KIND)


def again(job):
    """Let the job run once more, now."""
    Job.objects.filter(pk=job.pk, state="waiting").update(run_after=timezone.now())
    runner.run(job.pk)
    job.refresh_from_db()
    return job


def tally():
    return {
        "invocations": Invocation.objects.count(),
        "facts": Memory.objects.filter(kind="fact").count(),
        "episodes": Memory.objects.filter(kind="episode").count(),
        "runs": ace_runs.AceRun.objects.count(),
    }


WHOLE = {"invocations": 1, "facts": 2, "episodes": 1, "runs": 1}


class TestAKilledWorker:
    @pytest.mark.parametrize(
        ("module", "name", "calls"),
        [
            (invocation_job, "append_invocation", 1),
            (invocation_job, "_note", 1),
            (runner.JobRun, "step", 1),
            (fact_candidates, "find_facts", 1),
            (facts_from_run, "commit_facts", 1),
            (write, "commit", 2),
            (invocation_job, "_mark_scanned", 1),
            (runner.JobRun, "step", 2),
            (episode, "complete_once", 1),
            (episode_lessons, "write_lessons", 1),
            (ace_runs, "_finish", 1),
            (invocation_job, "_note", 2),
            (invocation_job, "_note", 3),
            (runner.JobRun, "finish", 1),
        ],
    )
    def test_everything_is_there_once_after_the_next_attempt(
        self, job, run, model, monkeypatch, module, name, calls
    ):
        for _ in range(2):
            model.script_json(said(), facts(VEGAN, LISBON))
        model.respond = lambda body: fail(500)
        with monkeypatch.context() as patch:
            die_at(patch, module, name, calls)
            run_and_kill(job)
        refill(model)

        assert again(job).state == "done", job.error

        run.refresh_from_db()
        assert tally() == WHOLE
        assert run.learned["invocation"] == str(Invocation.objects.get().pk)
        assert len(run.learned["facts"]) == 2
        assert run.learned["episode"] == str(Memory.objects.get(kind="episode").pk)
        assert run.learned["error"] is None


def refill(model):
    """Answer each question with what fits its schema, however many were asked before."""
    model.json_replies.clear()
    real = model.reply_to

    def reply(body):
        names = str(body.get("response_format"))
        if "'did'" in names:
            return say_json(said())
        if "'facts'" in names:
            return say_json(facts(VEGAN, LISBON))
        return real(body)

    model.reply_to = reply


def say_json(value):
    import json

    return say(json.dumps(value))


class TestTwoWorkersAtOnce:
    def test_everything_is_there_once(self, job, run, model, together):
        refill(model)
        twin = Job.objects.create(
            kind=job.kind, project_id=job.project_id, args=job.args
        )

        together(lambda: runner.run(job.pk), lambda: runner.run(twin.pk))
        for each in Job.objects.filter(state="waiting", kind=job.kind):
            again(each)

        run.refresh_from_db()
        assert tally() == WHOLE
        assert len(run.learned["facts"]) == 2
        assert run.learned["episode"] == str(Memory.objects.get(kind="episode").pk)


class TestAModelThatFails:
    @pytest.fixture(autouse=True)
    def _few_calls(self, project):
        project.settings = {"agents": {"enable_episode_recording": False}}
        project.save()

    @pytest.mark.parametrize(
        "reply",
        [
            fail(429, **{"Retry-After": "0"}),
            fail(503),
            say("no JSON at all"),
            say('{"facts": [{"content": 1}]}'),
            say("{}"),
            say("   "),
            say(""),
        ],
    )
    def test_the_job_tries_again_and_nothing_is_half_written(
        self, job, run, model, reply
    ):
        model.script_json(said(), *[reply] * 20)
        first = again(job)

        run.refresh_from_db()
        assert first.state == "waiting"
        assert tally() == {"invocations": 1, "facts": 0, "episodes": 0, "runs": 0}
        assert (run.learned["facts"], run.learned["refused"]) == ([], {})
        assert run.learned["error"]

        refill(model)
        rested()
        assert again(job).state == "done"
        run.refresh_from_db()
        assert len(run.learned["facts"]) == 2
        assert run.learned["error"] is None
        assert Invocation.objects.count() == 1

    def test_a_model_that_hangs_ends_with_the_time_limit(
        self, job, run, model, settings
    ):
        settings.LANGUAGE_TIMEOUT = 0.5
        never = threading.Event()
        hang = scripted_endpoint.Reply(text="{}", wait=never)
        model.script_json(said(), hang, hang, hang)

        assert again(job).state == "waiting"
        assert tally()["facts"] == 0

    def test_after_the_last_attempt_the_rest_is_done_and_the_run_says_why(
        self, project, job, run, model
    ):
        project.settings = {}
        project.save()
        Job.objects.update(attempts=invocation_job.ATTEMPTS - 1)
        model.script_json(said(), *[fail(503)] * 20)

        assert again(job).state == "failed"
        run.refresh_from_db()
        assert tally() == {"invocations": 1, "facts": 0, "episodes": 1, "runs": 1}
        assert run.learned["episode"]
        assert run.learned["error"]

    def test_a_spent_budget_is_no_reason_to_try_again(self, project, job, run, model):
        project.settings = {"language": {"tokens_per_day": 1}}
        project.save()

        assert again(job).state == "failed"
        run.refresh_from_db()
        assert "tokens" in run.learned["error"]
        assert Invocation.objects.count() == 1
        assert model.json_prompts == []


def rested():
    """Let the client ask again, which rests after failures in a row."""
    from inference.language import language_model

    active = language_model.from_settings()
    active.failures, active.rests_until = 0, 0.0


class TestAKilledEndOfAConversation:
    @pytest.fixture
    def ended(self, project, talk, alice):
        for number in range(3):
            query = f"Is the build {number} green? I am vegan"
            record.append_invocation(talk, query, "", "the build is green", alice)
        end_conversation(talk, alice)
        return Job.objects.get(kind="agent_conversation")

    @pytest.mark.parametrize(
        ("module", "name", "calls"),
        [
            (promotion, "promote_facts", 1),
            (conversation_episode, "record_conversation", 1),
            (ace_runs, "_finish", 1),
            (conversation_job, "commit_facts", 1),
            (runner.JobRun, "step", 3),
            (runner.JobRun, "finish", 1),
        ],
    )
    def test_each_thing_is_there_once(
        self, ended, talk, model, monkeypatch, module, name, calls
    ):
        refill(model)
        with monkeypatch.context() as patch:
            die_at(patch, module, name, calls)
            run_and_kill(ended)

        assert again(ended).state == "done", ended.error

        assert Memory.objects.filter(kind="episode").count() == 1
        assert Memory.objects.filter(kind="fact").count() == 1
        assert Session.objects.get(pk=talk.pk).scanned_invocation == 3

    def test_two_workers_at_once_store_each_fact_once(self, ended, model, talk):
        refill(model)
        end_conversation(Session.objects.get(pk=talk.pk), SYSTEM)
        again(ended)
        Job.objects.filter(pk=ended.pk).update(state="waiting", attempts=0)

        again(ended)

        assert Memory.objects.filter(kind="fact").count() == 1
        assert PlaybookDelta.objects.count() == 0

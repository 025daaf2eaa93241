"""A task that was accepted is finished, whatever dies on its way, and nothing twice."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from ace import run as runs
from ace.models import AceRun
from inference.embedding import fake
from jobs import runner
from jobs.models import Job
from memories.models import Memory, MemoryVector
from tests.faults.conftest import tally
from tests.isolation.world import undone

URL = "/api/v1/complete-task"
KEY = {"Idempotency-Key": "one task"}


class ProcessDeath(BaseException):
    """The death of a process: no `except Exception` catches it."""


def die(*args, **kwargs):
    raise ProcessDeath


def broken(*args, **kwargs):
    raise RuntimeError("the playbook is on fire\x00")


def fail_task(api, task):
    """Return the id of a run that neither its request nor its job could finish."""
    run_id = send_task(api, task).json()["run_id"]
    fail_each_attempt()
    assert AceRun.objects.get(pk=run_id).state == "failed"
    return run_id


def fail_each_attempt():
    for _ in range(runs.ATTEMPTS):
        due_jobs()
        runner.run(Job.objects.get(kind="ace", state="waiting").pk)


def due_jobs():
    Job.objects.filter(state="waiting").update(run_after=timezone.now())


def send_task(api, task):
    return api.post(URL, task, headers=KEY)


@pytest.fixture
def finished_run(bob_api, task, rule, project):
    """Return what one undisturbed task creates."""
    task["cited_entry_ids"] = [rule]
    with undone():
        answer = send_task(bob_api, task).json()
        assert answer["state"] == "done"
        left = tally(project)
    return left


@pytest.mark.django_db
class TestAPhaseThatFails:
    @pytest.mark.parametrize("phase", ["reflector", "curator"])
    def test_the_answer_says_which_and_the_job_finishes_it(
        self, bob_api, task, finished_run, project, monkeypatch, run_jobs, phase
    ):
        with monkeypatch.context() as patch:
            patch.setitem(runs.PHASES, phase, broken)
            answer = send_task(bob_api, task)
        shown = answer.json()
        due_jobs()
        run_jobs()

        assert (answer.status_code, shown["state"]) == (200, "running")
        assert shown["phases"][phase]["status"] == "failed"
        assert "on fire" in shown["phases"][phase]["error"]
        assert Memory.objects.filter(pk=shown["memory_id"]).exists()
        assert tally(project) == finished_run

    def test_its_last_failure_is_told_and_it_can_be_resumed(
        self, bob_api, task, finished_run, project, monkeypatch
    ):
        with monkeypatch.context() as patch:
            patch.setitem(runs.PHASES, "curator", broken)
            run_id = send_task(bob_api, task).json()["run_id"]
            for _ in range(runs.ATTEMPTS):
                due_jobs()
                runner.run(Job.objects.get(kind="ace").pk)
        shown = bob_api.get(f"/api/v1/runs/{run_id}").json()

        assert (shown["state"], Job.objects.get().state) == ("failed", "failed")
        assert "on fire" in shown["phases"]["curator"]["error"]
        resumed = bob_api.post(f"/api/v1/runs/{run_id}/resume", {})
        assert resumed.json()["state"] == "done"
        assert tally(project) == finished_run

    def test_a_resumption_that_fails_too_leaves_it_to_a_job(
        self, bob_api, task, finished_run, project, monkeypatch, run_jobs
    ):
        with monkeypatch.context() as patch:
            patch.setitem(runs.PHASES, "curator", broken)
            resume = f"/api/v1/runs/{fail_task(bob_api, task)}/resume"
            resumed = bob_api.post(resume, {})
            fail_each_attempt()
            again = AceRun.objects.get().state
            bob_api.post(resume, {})
        due_jobs()
        run_jobs()

        assert (resumed.json()["state"], again) == ("running", "failed")
        assert AceRun.objects.get().state == "done"
        assert tally(project) == finished_run

    @pytest.mark.parametrize("prefer", ["", "respond-async"])
    def test_a_repetition_takes_up_a_failed_run(
        self, bob_api, task, finished_run, project, monkeypatch, run_jobs, prefer
    ):
        with monkeypatch.context() as patch:
            patch.setitem(runs.PHASES, "curator", broken)
            run_id = fail_task(bob_api, task)
        again = bob_api.post(URL, task, headers={**KEY, "Prefer": prefer})
        told = (again.status_code, again.json()["state"])
        run_jobs()

        assert told == ((202, "running") if prefer else (200, "done"))
        assert again.json()["run_id"] == run_id
        assert tally(project) == finished_run

    def test_a_resumption_sent_again_gets_the_same_answer(
        self, bob_api, task, finished_run, project, monkeypatch
    ):
        with monkeypatch.context() as patch:
            patch.setitem(runs.PHASES, "curator", broken)
            resume = f"/api/v1/runs/{fail_task(bob_api, task)}/resume"
            first = bob_api.post(resume, {}, headers=KEY).json()
        second = bob_api.post(resume, {}, headers=KEY)
        third = bob_api.post(resume, {}, headers=KEY)
        other = bob_api.post(resume, {}, headers={"Idempotency-Key": "another"})

        assert (first["state"], second.json()["state"]) == ("running", "done")
        assert (third.status_code, third.json()) == (200, second.json())
        assert other.status_code == 409
        assert tally(project) == finished_run

    def test_a_repetition_goes_on_where_it_stopped(
        self, bob_api, task, finished_run, project, monkeypatch
    ):
        with monkeypatch.context() as patch:
            patch.setitem(runs.PHASES, "curator", broken)
            first = send_task(bob_api, task).json()
        second = send_task(bob_api, task).json()

        assert second["state"] == "done"
        assert second["run_id"] == first["run_id"]
        assert tally(project) == finished_run


@pytest.mark.django_db
class TestAProcessThatDies:
    @pytest.mark.parametrize("phase", ["reflector", "curator"])
    def test_its_job_finishes_the_run(
        self, bob_api, task, finished_run, project, monkeypatch, run_jobs, phase
    ):
        with monkeypatch.context() as patch, pytest.raises(ProcessDeath):
            patch.setitem(runs.PHASES, phase, die)
            send_task(bob_api, task)
        assert AceRun.objects.get().state == "running"
        due_jobs()
        run_jobs()

        assert tally(project) == finished_run

    def test_a_task_that_kills_every_worker_is_told_as_failed(
        self, bob_api, task, rule, monkeypatch
    ):
        patch = monkeypatch.setitem
        patch(runs.PHASES, "reflector", die)
        with pytest.raises(ProcessDeath):
            send_task(bob_api, task)
        job = Job.objects.get(kind="ace")
        for _ in range(runs.ATTEMPTS):
            Job.objects.update(run_after=timezone.now(), lease_until=LONG_AGO)
            with pytest.raises(ProcessDeath):
                runner.run(job.pk)
        Job.objects.update(lease_until=LONG_AGO)
        runner.run(job.pk)

        job.refresh_from_db()
        assert (job.state, "died" in job.error) == ("failed", True)
        shown = bob_api.get(f"/api/v1/runs/{AceRun.objects.get().pk}").json()
        assert shown["state"] == "failed"
        assert "died" in shown["phases"]["reflector"]["error"]

    def test_at_any_query_nothing_is_lost_and_nothing_twice(
        self, bob_api, task, finished_run, project
    ):
        """The n-th query is the last one of the first process, for every fourth n."""
        at, dead = 1, True
        while dead:
            with undone():
                dead = self.dies(bob_api, task, at)
                again = send_task(bob_api, task)

                assert again.status_code == 200, (at, again.content)
                assert again.json()["state"] == "done", at
                assert tally(project) == finished_run, at
                assert send_task(bob_api, task).json() == again.json()
            at += 4

    @staticmethod
    def dies(api, task, at):
        asked = 0

        def count(execute, sql, params, many, context):
            nonlocal asked
            # The death itself rolls back.
            if not sql.startswith("ROLLBACK"):
                asked += 1
                if asked == at:
                    raise ProcessDeath
            return execute(sql, params, many, context)

        try:
            with connection.execute_wrapper(count):
                send_task(api, task)
        except ProcessDeath:
            return True
        return False


LONG_AGO = timezone.now() - timedelta(hours=1)


@pytest.mark.django_db
class TestAnEmbedderThatDies:
    def test_the_task_is_taken_and_its_memory_found_by_words(
        self, bob_api, task, project
    ):
        with fake.outage():
            answer = send_task(bob_api, task).json()
            asked = {"project_id": str(project.pk), "query": "rename option"}
            hits = bob_api.post("/api/v1/search", asked).json()["hits"]

        assert answer["state"] == "done"
        assert [hit["memory"]["id"] for hit in hits] == [answer["memory_id"]]
        assert not MemoryVector.objects.exists()

    def test_it_is_embedded_and_compared_when_the_model_is_back(
        self, bob_api, task, run_jobs
    ):
        first = send_task(bob_api, task).json()["memory_id"]
        almost = task | {"result": "The option is renamed and tests pass"}
        with fake.outage():
            second = bob_api.post(URL, almost).json()["memory_id"]
        Memory.objects.filter(pk=second).update(is_compared=False)
        run_jobs()

        found = Memory.objects.light().get(pk=second)
        assert found.embedding is not None
        assert str(found.duplicate_of_id) == first

    def test_what_cannot_be_compared_waits_for_a_person(
        self, bob_api, task, finished_run, project, monkeypatch, run_jobs
    ):
        whole = runs.PHASES["curator"]

        def fails(run, caller):
            with fake.outage():
                return whole(run, caller)

        with monkeypatch.context() as patch:
            patch.setitem(runs.PHASES, "curator", fails)
            answer = send_task(bob_api, task).json()
        run_jobs()

        left = tally(project)
        assert answer["state"] == "done"
        assert [status for _, status in left["deltas"]].count("pending") == 2
        assert len(left["deltas"]) == len(finished_run["deltas"])
        assert left["memories"] == finished_run["memories"]


@pytest.mark.django_db(transaction=True)
class TestALostConnection:
    def test_after_the_memory_is_stored_a_repetition_finishes_the_task(
        self, bob_api, task, rule, project, monkeypatch
    ):
        def cut(run, caller):
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                pid = cursor.fetchone()[0]
            parameters = connection.get_connection_params()
            wanted = ("dbname", "user", "host", "port", "password")
            given = {k: v for k, v in parameters.items() if k in wanted}
            with psycopg.connect(**given, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s)", [pid])
            connection.cursor().execute("SELECT 1")

        with monkeypatch.context() as patch:
            patch.setitem(runs.PHASES, "reflector", cut)
            first = send_task(bob_api, task)
        connection.close()
        stored = AceRun.objects.get()
        second = send_task(bob_api, task)

        assert (first.status_code, first.json()["code"]) == (503, "unavailable")
        assert first.headers["Retry-After"]
        assert stored.memory_id is not None
        assert second.json()["run_id"] == str(stored.pk)
        assert second.json()["state"] == "done"
        assert tally(project)["memories"] == 1

    def test_before_anything_is_stored_nothing_is(
        self, bob_api, task, rule, monkeypatch
    ):
        def gone(*args, **kwargs):
            raise OperationalError from psycopg.OperationalError("server closed")

        with monkeypatch.context() as patch:
            patch.setattr(runs, "_commit", gone)
            answer = send_task(bob_api, task)

        assert answer.status_code == 503
        assert AceRun.objects.count() == Memory.objects.count() == 0
        assert send_task(bob_api, task).json()["state"] == "done"


@pytest.mark.django_db
class TestARepetition:
    def test_it_answers_the_same_and_moves_nothing(
        self, bob_api, task, finished_run, project
    ):
        first, second = send_task(bob_api, task), send_task(bob_api, task)

        assert first.json() == second.json()
        assert first.json()["run_id"]
        assert tally(project) == finished_run

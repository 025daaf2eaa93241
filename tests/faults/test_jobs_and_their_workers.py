"""Two workers, dead workers, late workers: the Job table is the only truth."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from access.models import ApiKey
from ace import run as runs
from ace.models import AceRun
from jobs import broker, errors, queue, runner, tasks
from jobs.models import Job
from memories.duplicates import scan
from memories.models import DuplicateFinding, Memory
from memories.store.vectors import embed_later
from tests.faults.conftest import tally
from tests.faults.kill_replay import wait_for
from tests.isolation.world import posted


@pytest.fixture
def handler(monkeypatch):
    """A job kind whose runs are listed; `handler.act` is its work."""

    class Handled:
        attempts = 3

        def __init__(self):
            self.runs = []

        def act(self, run):
            return {"by": run.job.attempts}

    found = Handled()

    def handle(run):
        found.runs.append(run)
        return found.act(run)

    how = runner.JobHandler("probe", handle, found.attempts, timedelta(minutes=1))
    monkeypatch.setitem(runner.HANDLERS, "probe", how)
    return found


def expire(job):
    """End the lease, as if the worker was killed."""
    Job.objects.filter(pk=job.pk).update(
        lease_until=timezone.now() - timedelta(seconds=1)
    )


@pytest.mark.django_db
class TestAnotherRelease:
    def test_a_job_of_an_unknown_kind_waits_for_a_worker_that_knows_it(
        self, handler, monkeypatch
    ):
        job = queue.enqueue("probe")
        with monkeypatch.context() as patch:
            patch.delitem(runner.HANDLERS, "probe")
            runner.run(job.pk)
        job.refresh_from_db()
        waited = job.state, job.attempts, job.error, job in Job.objects.due()
        Job.objects.update(run_after=timezone.now())
        runner.run(job.pk)

        job.refresh_from_db()
        why = "this release has no handler for probe"
        assert waited == ("waiting", 0, why, False)
        assert (job.state, job.error) == ("done", "")


@pytest.mark.django_db
class TestTurns:
    """Jobs of a kind that is shared take turns by project."""

    @pytest.fixture
    def shared(self, handler, monkeypatch):
        how = replace(runner.HANDLERS["probe"], is_shared=True)
        monkeypatch.setitem(runner.HANDLERS, "probe", how)
        return handler

    def test_one_job_of_another_project_comes_before_the_rest_of_many(
        self, shared, project, other_project
    ):
        many = [queue.enqueue("probe", project_id=project.pk) for _ in range(3)]
        one = queue.enqueue("probe", project_id=other_project.pk)

        for job in [*many, one]:
            runner.run(job.pk)

        order = [run.job.project_id for run in shared.runs]
        assert order.index(other_project.pk) <= 1
        assert len(order) == 4

    def test_a_long_job_yields_to_another_project_soon(
        self, shared, project, other_project, monkeypatch
    ):
        monkeypatch.setattr(runner, "SHARED_TURN", timedelta(0))
        shared.act = lambda run: run.yield_turn() or {}
        first = queue.enqueue("probe", project_id=project.pk)
        runner.run(first.pk)
        first.refresh_from_db()
        assert first.state == "done"

        long = queue.enqueue("probe", project_id=project.pk)
        shared.act = lambda run: (
            queue.enqueue("probe", project_id=other_project.pk),
            run.yield_turn(),
        )
        runner.run(long.pk)

        long.refresh_from_db()
        assert (long.state, long.attempts) == ("waiting", 0)


@pytest.mark.django_db(transaction=True)
class TestLease:
    def test_it_is_short_and_renewed_while_the_job_is_at_work(
        self, handler, monkeypatch
    ):
        monkeypatch.setattr(runner, "RENEWAL", 0.05)
        job = queue.enqueue("probe")

        def act(run):
            lease = run.job.lease_until - timezone.now()
            assert timedelta(seconds=50) < lease <= timedelta(seconds=60)
            expire(run.job)
            assert wait_for(lambda: not Job.objects.due().exists(), seconds=10)

        handler.act = act
        runner.run(job.pk)

        job.refresh_from_db()
        assert job.state == "done", job.error

    def test_that_of_a_silent_job_ends(self, handler, monkeypatch):
        monkeypatch.setattr(runner, "RENEWAL", 0.05)
        how = replace(runner.HANDLERS["probe"], silence=timedelta(0))
        monkeypatch.setitem(runner.HANDLERS, "probe", how)
        job = queue.enqueue("probe")

        def act(run):
            expire(run.job)
            thread = next(t for t in threading.enumerate() if t.name == "job-lease")
            thread.join(10)
            assert Job.objects.due().exists()

        handler.act = act
        runner.run(job.pk)

        assert len(handler.runs) == 1


@pytest.mark.django_db(transaction=True)
class TestTwoAtOnce:
    def test_one_of_eight_workers_runs_a_job(self, handler, together):
        job = queue.enqueue("probe")
        together(*[lambda: runner.run(job.pk)] * 8)

        assert len(handler.runs) == 1
        job.refresh_from_db()
        assert (job.state, job.attempts) == ("done", 1)

    def test_one_job_waits_for_a_key_whoever_asks(self, project, together):
        together(*[lambda: embed_later(project.pk)] * 8)

        assert Job.objects.filter(kind="embed", state="waiting").count() == 1

    def test_one_run_is_finished_once_by_four_processes(
        self, bob_api, task, project, monkeypatch, together
    ):
        ApiKey.objects.filter(pk=bob_api.key.pk).update(may_attest=True)

        def fails(*args):
            raise RuntimeError

        with monkeypatch.context() as patch:
            patch.setitem(runs.PHASES, "reflector", fails)
            run_id = bob_api.post("/api/v1/complete-task", task).json()["run_id"]

        def advance():
            run = AceRun.objects.select_related("project", "memory").get(pk=run_id)
            return runs.advance(run, runs.caller_of(run)).ace_result

        answers = together(*[advance] * 4)

        left = tally(project)
        assert left["reflections"] == left["memories"] == 1
        assert left["runs"] == ["done"]
        assert [n for _, *n in left["votes"]] == [[0, 0, 0]] * len(left["votes"])
        run = AceRun.objects.get()
        assert {p["status"] for p in run.phases.values()} == {"done"}
        assert run.result["change_id"]
        assert {answer["change_id"] for answer in answers} == {run.result["change_id"]}
        operations = run.result["playbook_delta"]["operations"]
        assert len(operations) == len(left["deltas"]) > 0

    def test_four_repetitions_of_one_task_are_one(
        self, bob_api, task, project, together, client_of
    ):
        secret = bob_api._credentials
        headers = {"Idempotency-Key": "one task"}

        def send():
            client = type(bob_api)()
            client.credentials(**secret)
            return client.post("/api/v1/complete-task", task, headers=headers)

        answers = together(*[send] * 4)

        assert {answer.status_code for answer in answers} <= {200, 409}
        done = [answer.json() for answer in answers if answer.status_code == 200]
        assert len({answer["run_id"] for answer in done}) == 1
        assert tally(project)["memories"] == AceRun.objects.count() == 1


@pytest.mark.django_db
class TestAWorkerThatDies:
    def test_its_job_is_taken_over_when_the_lease_ran_out(self, handler):
        job = queue.enqueue("probe")
        runner.claim(job.pk)
        runner.run(job.pk)
        assert handler.runs == []

        expire(job)
        runner.run(job.pk)

        job.refresh_from_db()
        assert (job.state, job.attempts, job.result) == ("done", 2, {"by": 2})

    def test_its_late_step_is_refused_and_its_late_end_changes_nothing(self, handler):
        job = queue.enqueue("probe")
        how = runner.HANDLERS["probe"]
        late = runner.JobRun(runner.claim(job.pk), how)
        expire(job)
        second = runner.JobRun(runner.claim(job.pk), how)

        with pytest.raises(errors.JobCancelled):
            late.step(1, cursor={"by": "the first"})
        late.finish({"by": "the first"})
        late.fail(RuntimeError("the first"), for_good=True)

        job.refresh_from_db()
        assert (job.state, job.cursor, job.error) == ("running", {}, "")
        second.step(2)
        second.finish({"by": "the second"})
        job.refresh_from_db()
        assert (job.state, job.done, job.result["by"]) == ("done", 2, "the second")

    def test_a_job_that_kills_every_worker_becomes_a_dead_letter(self, handler):
        job = queue.enqueue("probe")
        for _ in range(handler.attempts):
            assert runner.claim(job.pk)
            expire(job)
        runner.run(job.pk)

        job.refresh_from_db()
        assert (job.state, handler.runs) == ("failed", [])
        assert "died" in job.error
        assert not Job.objects.due().exists()

    def test_a_cancelled_job_stops_at_its_next_step(self, handler):
        job = queue.enqueue("probe")

        def act(run):
            queue.cancel(Job.objects.get(pk=job.pk))
            run.step(1)
            raise AssertionError("it went on")

        handler.act = act
        runner.run(job.pk)

        job.refresh_from_db()
        assert (job.state, job.error) == ("cancelled", "")

    def test_an_error_that_postgres_cannot_hold_is_kept_without_it(self, handler):
        job = queue.enqueue("probe")

        def act(run):
            raise errors.Permanent("bad\x00byte")

        handler.act = act
        runner.run(job.pk)

        job.refresh_from_db()
        assert (job.state, job.error) == ("failed", "Permanent: badbyte")

    @pytest.fixture
    def asked_for_anew(self, handler):
        """A job that failed while it was enqueued once more."""

        def act(run):
            queue.enqueue("probe", key="one")
            raise RuntimeError("not today")

        handler.act = act
        runner.run(queue.enqueue("probe", key="one").pk)

    @pytest.mark.usefixtures("asked_for_anew")
    def test_a_job_that_somebody_asked_for_anew_gives_way(self):
        assert sorted(Job.objects.values_list("state", flat=True)) == [
            "cancelled",
            "waiting",
        ]

    def test_a_failed_job_whose_work_waits_already_is_not_doubled(
        self, handler, alice_api, project
    ):
        failed = Job.objects.create(
            kind="probe", key="one", state="failed", project_id=project.pk
        )
        queue.enqueue("probe", key="one", project_id=project.pk)
        answer = alice_api.post(f"/api/v1/jobs/{failed.pk}/retry", {})

        assert (answer.status_code, answer.json()["code"]) == (409, "job_state")


@pytest.mark.django_db
class TestALongJob:
    @pytest.fixture
    def turns(self, handler, monkeypatch):
        """Each run of the probe does one of three pieces and then yields its turn."""
        monkeypatch.setattr(runner, "TURN_LENGTH", timedelta(0))

        def act(run):
            while run.job.cursor.get("done", 0) < 3:
                done = run.job.cursor.get("done", 0) + 1
                run.step(done, 3, cursor={"done": done})
                run.yield_turn()
            return {"by": run.job.attempts}

        handler.act = act
        return handler

    def test_it_waits_behind_those_that_wait_already(self, turns, monkeypatch):
        long, other = queue.enqueue("probe"), queue.enqueue("probe")
        told = []
        monkeypatch.setattr(broker, "wake_worker", told.append)

        runner.run(long.pk)

        due = Job.objects.due().order_by("run_after")
        assert list(due) == [other, long]
        assert told == [long.pk]

    def test_it_goes_on_where_it_stopped_and_no_turn_is_a_failed_attempt(self, turns):
        job, _ = queue.enqueue("probe"), queue.enqueue("probe")
        seen = []
        for _ in range(4):
            runner.run(job.pk)
            job.refresh_from_db()
            seen.append((job.state, job.done, job.attempts))

        waits = [("waiting", done, 0) for done in (1, 2, 3)]
        assert seen == [*waits, ("done", 3, 1)]

    def test_it_leaves_the_rest_to_one_that_somebody_asked_for_anew(self, turns):
        act = turns.act

        def asked_anew(run):
            queue.enqueue("probe", key="one")
            act(run)

        turns.act = asked_anew
        runner.run(queue.enqueue("probe", key="one").pk)

        states = Job.objects.order_by("pk").values_list("state", flat=True)
        assert list(states) == ["cancelled", "waiting"]

    @pytest.mark.parametrize(
        ("turn", "others"), [(timedelta(minutes=1), 1), (timedelta(0), 0)]
    )
    def test_a_short_one_and_one_that_nobody_waits_for_are_not_interrupted(
        self, turns, monkeypatch, turn, others
    ):
        monkeypatch.setattr(runner, "TURN_LENGTH", turn)
        job = queue.enqueue("probe")
        for _ in range(others):
            queue.enqueue("probe")

        runner.run(job.pk)

        job.refresh_from_db()
        assert (job.state, job.done, len(turns.runs)) == ("done", 3, 1)


@pytest.mark.django_db
class TestADeduplication:
    TEXTS = (
        "The harbour crane is oiled every Monday morning before nine by two people",
        "Harbour crane is oiled every Monday morning before nine by two people",
        "Quite another thing is said here and nowhere else",
    )

    @pytest.fixture
    def job(self, alice_api, project, monkeypatch):
        """A job that compares three memories, each in its own step."""
        monkeypatch.setattr(scan, "SCAN_BATCH", 1)
        asked = {"project_id": str(project.pk), "memory_type": "learning"}
        off = {"dedup": {"enabled": False}}
        alice_api.patch(f"/api/v1/projects/{project.pk}/settings", off)
        for text in self.TEXTS:
            posted(alice_api, "memories", asked | {"content": text})
        body = {"project_id": str(project.pk), "apply": True}
        return posted(alice_api, "deduplications", body)["id"]

    def test_one_that_is_killed_goes_on_where_it_stopped_and_finds_the_same(
        self, alice_api, job, monkeypatch
    ):
        whole, seen = scan.compare_batch, []

        def dies_at_the_second(batch, of):
            seen.extend(batch)
            if len(seen) == 2:
                raise KeyboardInterrupt
            return whole(batch, of)

        monkeypatch.setattr(scan, "compare_batch", dies_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            runner.run(job)
        expire(Job.objects.get(pk=job))
        runner.run(job)

        assert_found(alice_api, job)
        assert len(seen) == 4


def assert_found(api, job):
    shown = api.get(f"/api/v1/deduplications/{job}").json()
    assert (shown["state"], shown["progress"]["done"]) == ("done", 3)
    assert shown["result"]["duplicates"] == DuplicateFinding.objects.count() == 1
    assert Memory.objects.filter(is_duplicate=True).count() == 1


@pytest.mark.django_db(transaction=True)
class TestTheSweep:
    def test_it_sends_what_waits_and_what_lost_its_worker(self, monkeypatch, handler):
        told = []
        monkeypatch.setattr(broker, "wake_worker", told.append)
        waiting = queue.enqueue("probe")
        lost = queue.enqueue("probe")
        later = queue.enqueue("probe", run_after=timezone.now() + timedelta(hours=1))
        busy = queue.enqueue("probe")
        runner.claim(lost.pk)
        runner.claim(busy.pk)
        expire(lost)
        told.clear()
        tasks.sweep()

        assert sorted(told) == sorted([waiting.pk, lost.pk])
        assert later.pk not in told

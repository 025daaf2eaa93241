"""No text stays without a vector, however its job ends; the health check counts it meanwhile."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from inference.embedding import missing_vectors, row_vectors
from inference.embedding.fake import outage
from jobs import runner
from jobs.models import Job
from memories.maintenance import embedding_job
from memories.models import Memory
from memory_project import health

LONG_NOTES = 24


class Killed(BaseException):
    """The worker ends at once, as after SIGKILL."""


@pytest.fixture(autouse=True)
def _time_to_count(monkeypatch):
    monkeypatch.setattr(health, "COUNT_SECONDS", 60)


@pytest.fixture
def job(alice_api, project):
    """The job of a batch of long notes."""
    texts = [
        f"Note {n}: " + "the harbour has a crane. " * 120 for n in range(LONG_NOTES)
    ]
    items = [{"memory_type": "learning", "content": text} for text in texts]
    body = {"project_id": str(project.pk), "memories": items}
    alice_api.post("/api/v1/memories/batch", body, format="json")
    return Job.objects.get(kind="embed")


def missing():
    return health.check_indexing().more["missing"]


def end_lease(job):
    Job.objects.filter(pk=job.pk).update(
        lease_until=timezone.now() - timedelta(seconds=1)
    )


def sweep_and_run(run_jobs):
    missing_vectors.enqueue_missing()
    run_jobs()


class TestAtWork:
    def test_a_step_has_a_bounded_number_of_chunks(self, job, monkeypatch):
        steps = []
        step = runner.JobRun.step
        monkeypatch.setattr(
            runner.JobRun,
            "step",
            lambda run, done, **rest: (steps.append(done), step(run, done, **rest)),
        )
        monkeypatch.setattr(row_vectors, "BATCH_CHUNKS", 16)

        runner.run(job.pk)

        assert len(steps) > 4
        assert steps[-1] == LONG_NOTES

    def test_a_second_job_waits_and_looks_again(self, job, run_jobs):
        runner.claim(job.pk)
        second = Job.objects.create(kind="embed", project_id=job.project_id, key="2")

        runner.run(second.pk)

        second.refresh_from_db()
        assert (second.state, second.attempts) == ("waiting", 0)
        assert second.run_after > timezone.now()
        end_lease(job)
        Job.objects.filter(pk=second.pk).update(run_after=timezone.now())
        assert missing() == LONG_NOTES
        run_jobs()
        assert missing() == 0

    def test_one_that_outlasts_its_lease_leaves_its_rows_to_the_next_attempt(
        self, job, monkeypatch, run_jobs
    ):
        monkeypatch.setattr(row_vectors, "BATCH_CHUNKS", 16)
        store = embedding_job._store_and_check
        attempts = []

        def outlast(pairs):
            store(pairs)
            if not attempts:
                attempts.append(job)
                end_lease(job)
                runner.run(job.pk)

        monkeypatch.setattr(embedding_job, "_store_and_check", outlast)

        runner.run(job.pk)

        job.refresh_from_db()
        assert (job.state, job.attempts) == ("done", 2)
        assert missing() == 0


# Where the worker is killed: the function that does not return.
KILLED_IN = {
    "before the first batch": (row_vectors, "_begin_batches"),
    "while the model works": (row_vectors, "embed_rows"),
    "before a batch is stored": (embedding_job, "_lock_unchanged"),
    "before duplicates are looked for": (embedding_job.mark, "check_all"),
    "before the step": (runner.JobRun, "step"),
    "before the end": (runner.JobRun, "finish"),
}


class TestKilled:
    @pytest.mark.parametrize(
        ("where", "name"), KILLED_IN.values(), ids=KILLED_IN.keys()
    )
    def test_another_worker_embeds_the_rest(
        self, job, monkeypatch, run_jobs, where, name
    ):
        def kill(*args, **kwargs):
            raise Killed

        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(where, name, kill)
            runner.run(job.pk)
        waiting = embedding_job.rows_to_embed(job.project_id).count()
        assert missing() == waiting

        end_lease(job)
        sweep_and_run(run_jobs)

        assert missing() == 0


class TestSweep:
    @pytest.mark.parametrize("state", ["done", "cancelled", "discarded", None])
    def test_rows_without_a_job_are_counted_and_get_one(self, job, run_jobs, state):
        if state:
            Job.objects.update(state=state)
        else:
            Job.objects.all().delete()
        assert missing() == LONG_NOTES

        sweep_and_run(run_jobs)

        assert missing() == 0

    def test_a_failed_job_is_tried_again_after_a_while(self, job, run_jobs):
        Job.objects.update(state="failed", finished_at=timezone.now())
        missing_vectors.enqueue_missing()
        assert Job.objects.get().state == "failed"

        Job.objects.update(finished_at=timezone.now() - missing_vectors.RETRY_AFTER * 2)
        sweep_and_run(run_jobs)

        assert (Job.objects.get().state, missing()) == ("done", 0)

    def test_what_waits_or_is_refused_gets_no_second_job(self, job, run_jobs, refuse):
        missing_vectors.enqueue_missing()
        assert Job.objects.count() == 1

        refuse("Note 7:")
        run_jobs()
        missing_vectors.enqueue_missing()

        assert not Job.objects.unfinished().exists()
        assert missing() == 1

    def test_every_kind_of_text_is_swept(self, alice_api, project, run_jobs):
        entry = {
            "project_id": str(project.pk),
            "category": "gotchas",
            "content": "Take the lock before you read the stock.",
        }
        with outage():
            alice_api.post("/api/v1/playbook/rules", entry, format="json")
        Job.objects.all().delete()
        assert missing() == 1

        sweep_and_run(run_jobs)

        assert missing() == 0

    def test_too_many_rows_to_count_are_told_by_the_last_sweep(self, job, monkeypatch):
        missing_vectors.enqueue_missing()
        monkeypatch.setattr(health, "COUNT_SECONDS", -1)

        check = health.check_indexing()

        assert check.more == {"missing": LONG_NOTES}
        assert "ago" in check.detail
        assert Memory.objects.count() == LONG_NOTES

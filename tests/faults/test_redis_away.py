"""Redis stopped, frozen or flushed: nothing is lost, and nobody waits for it."""

from __future__ import annotations

import socket
import tempfile
import time
from pathlib import Path

import pytest
import redis
from celery import current_app
from django.conf import settings as project_settings
from django.utils import timezone

from common import best_effort_redis
from jobs import broker as jobs_broker
from jobs import tasks
from jobs.models import Job
from memories.models import Memory
from tests.isolation.world import posted

pytestmark = pytest.mark.django_db(transaction=True)
# Seconds spent on it in all: one wait to notice, and room for a busy machine.
PATIENCE = 2.5


@pytest.fixture
def folder():
    # A short path: a socket's is 107 bytes long at most.
    with tempfile.TemporaryDirectory() as found:
        yield Path(found)


@pytest.fixture(params=["stopped", "frozen", "refused"])
def away(request, folder, settings, monkeypatch):
    """The URL of a Redis that is gone, or that accepts connections and answers nothing."""
    path = folder / "redis.sock"
    url, broker = f"unix://{path}?db=0", f"redis+socket://{path}"
    if request.param == "refused":
        url = broker = "redis://127.0.0.1:1/0"
    settings.REDIS_URL = url
    settings.THROTTLE_KEY = settings.THROTTLE_PROJECT = "1000/min"
    monkeypatch.setattr(current_app.conf, "broker_url", broker)
    monkeypatch.setattr(best_effort_redis.Outage, "until", 0.0)
    monkeypatch.setattr(jobs_broker.BrokerOutage, "until", 0.0)
    listener = socket.socket(socket.AF_UNIX)
    if request.param == "frozen":
        listener.bind(str(path))
        listener.listen(64)
    yield request.param
    listener.close()
    best_effort_redis.Outage.until = jobs_broker.BrokerOutage.until = 0.0


@pytest.fixture
def wait_times(monkeypatch):
    """Collect the seconds that each attempt to reach Redis took."""
    seconds = []

    def time_call(function):
        def call(*args):
            started = time.monotonic()
            try:
                return function(*args)
            finally:
                seconds.append(time.monotonic() - started)

        return call

    monkeypatch.setattr(jobs_broker, "wake_worker", time_call(jobs_broker.wake_worker))
    monkeypatch.setattr(best_effort_redis, "call", time_call(best_effort_redis.call))
    return seconds


def write(api, project, number):
    body = {
        "project_id": str(project.pk),
        "content": f"The crane number {number} stands in the harbour",
        "memory_type": "learning",
    }
    return posted(api, "memories", body)["id"]


def large_batch(api, project):
    """Write more texts than are embedded at once, so that a job is left."""
    texts = [f"Crane {n} lifts {n * 7} tons in the harbour" for n in range(21)]
    memories = [{"content": text, "memory_type": "learning"} for text in texts]
    body = {"project_id": str(project.pk), "memories": memories}
    return posted(api, "memories/batch", body)["results"]


class TestAway:
    def test_writes_are_answered_without_waiting_for_it_each(
        self, away, bob_api, project, task, wait_times
    ):
        """Each of them counts in two throttles and wakes a worker."""
        later = {"Prefer": "respond-async"}
        for number in range(6):
            write(bob_api, project, number)
            sent = task | {"goal": f"Task {number}"}
            answer = bob_api.post("/api/v1/complete-task", sent, headers=later)

            assert answer.status_code == 202

        assert len(wait_times) >= 6 * 5
        assert sum(wait_times) < PATIENCE

    def test_waking_waits_once_and_not_for_each_job(self, away):
        started = time.monotonic()
        for _ in range(20):
            jobs_broker.wake_worker(Job().pk)

        assert time.monotonic() - started < PATIENCE
        assert jobs_broker.BrokerOutage.until > time.monotonic()

    def test_the_job_waits_in_the_table_and_the_sweep_finds_it(
        self, away, bob_api, project, monkeypatch, run_jobs
    ):
        large_batch(bob_api, project)
        [job] = Job.objects.due()
        told = []
        monkeypatch.setattr(jobs_broker, "wake_worker", told.append)
        tasks.sweep()
        run_jobs()

        assert told == [job.pk]
        job.refresh_from_db()
        assert (job.kind, job.state, job.result["embedded"]) == ("embed", "done", 21)

    def test_a_task_is_completed(self, away, bob_api, task):
        answer = bob_api.post("/api/v1/complete-task", task)

        assert (answer.status_code, answer.json()["state"]) == (200, "done")

    def test_reads_and_searches_go_on(self, away, bob_api, project):
        memory = write(bob_api, project, 7)
        asked = {"project_id": str(project.pk), "query": "crane harbour"}

        assert posted(bob_api, "search", asked)["hits"][0]["memory"]["id"] == memory
        assert bob_api.get(f"/api/v1/memories/{memory}").status_code == 200

    def test_a_repetition_is_known_all_the_same(self, away, bob_api, project):
        body = {
            "project_id": str(project.pk),
            "content": "The crane is known to PostgreSQL",
            "memory_type": "learning",
        }
        keyed = {"headers": {"Idempotency-Key": "crane"}}
        answers = [bob_api.post("/api/v1/memories", body, **keyed) for _ in range(2)]

        assert [a.status_code for a in answers] == [201, 201]
        assert answers[0].json() == answers[1].json()
        assert Memory.objects.count() == 1


class TestFlushed:
    def test_a_job_whose_message_is_gone_is_sent_again(
        self, bob_api, project, run_jobs
    ):
        large_batch(bob_api, project)
        store = redis.Redis.from_url(project_settings.REDIS_URL)
        assert store.llen("celery")
        store.flushdb()
        Job.objects.update(run_after=timezone.now())
        tasks.sweep()

        assert store.llen("celery") == 1
        run_jobs()
        assert Job.objects.get(kind="embed").state == "done"
        store.flushdb()

    def test_it_is_asked_again_after_a_while(self, monkeypatch):
        monkeypatch.setattr(jobs_broker.BrokerOutage, "until", time.monotonic() - 0.1)
        store = redis.Redis.from_url(project_settings.REDIS_URL)
        store.flushdb()
        jobs_broker.wake_worker(Job().pk)

        assert store.llen("celery") == 1
        store.flushdb()

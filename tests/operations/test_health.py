from __future__ import annotations

import socket
import threading
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from common import schema_version
from inference.embedding import model_record
from inference.models import ActiveModel, ModelCall
from jobs import runner
from jobs.models import Heartbeat, Job
from memory_project import health

FAKE_64 = {"provider": "fake", "model": "", "url": "", "dimensions": 64}

ready = pytest.mark.django_db(transaction=True)


@pytest.fixture
def _alive(transactional_db):
    Heartbeat.beat("worker")


def readyz(client):
    answer = client.get("/readyz")
    return answer.status_code, answer.json()


class TestHealthz:
    def test_it_needs_no_database(self, client):
        answer = client.get("/healthz")

        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize(("path", "status"), [("/healthz", 200), ("/admin/", 400)])
def test_only_probes_are_answered_by_address(client, settings, path, status):
    settings.ALLOWED_HOSTS = ["memory.lan"]

    assert client.get(path, headers={"host": "10.0.0.7"}).status_code == status


@ready
class TestReadyz:
    @pytest.mark.usefixtures("_alive")
    def test_it_is_ready(self, client):
        status, answer = readyz(client)

        assert (status, answer["status"], answer["reason"]) == (200, "ready", "")
        assert list(answer["checks"]) == [
            "broker",
            "database",
            "migrations",
            "worker",
            "oldest_job",
            "dead_letters",
            "last_success",
            "embeddings",
            "indexing",
        ]

    @pytest.mark.usefixtures("_alive")
    def test_it_is_asked_by_address(self, client, settings):
        settings.ALLOWED_HOSTS = ["memory.lan"]

        assert client.get("/readyz", headers={"host": "10.0.0.7"}).status_code == 200

    @pytest.mark.usefixtures("_alive")
    def test_it_says_that_another_model_is_configured(self, client, monkeypatch):
        used = ActiveModel(name="fake@64", choice=FAKE_64)
        monkeypatch.setattr(model_record, "read", lambda: used)
        status, answer = readyz(client)

        detail = answer["checks"]["embeddings"]["detail"]
        assert (status, detail.startswith("searches use fake@64")) == (200, True)
        assert "manage.py reembed" in detail

    def test_without_a_worker_it_says_so(self, client):
        status, answer = readyz(client)

        assert (status, answer["status"]) == (503, "not ready")
        assert "worker: no worker has shown life yet" in answer["reason"]

    @pytest.mark.parametrize(("age", "status"), [(50, 200), (70, 503)])
    def test_a_worker_shows_life_every_minute(self, client, age, status):
        at = timezone.now() - timedelta(seconds=age)
        Heartbeat.objects.create(name="worker", at=at)

        assert readyz(client)[0] == status

    def test_a_working_job_shows_that_its_worker_lives(self, client):
        hour_ago = timezone.now() - timedelta(hours=1)
        Heartbeat.objects.create(name="worker", at=hour_ago)
        job = Job.objects.create(kind="x")
        how = runner.JobHandler("x", lambda run: None, 1, timedelta(minutes=1))

        runner.JobRun(runner.claim(job.pk), how).step(1)

        assert readyz(client)[0] == 200

    @pytest.mark.usefixtures("_alive")
    @pytest.mark.parametrize(("age", "is_said"), [(200, False), (400, True)])
    def test_a_backlog_is_said_and_requests_are_served(self, client, age, is_said):
        Job.objects.create(kind="x", run_after=timezone.now() - timedelta(seconds=age))

        status, answer = readyz(client)

        assert status == 200
        said = answer["checks"]["oldest_job"]["detail"]
        assert ("a backlog: 1 jobs are due" in said) == is_said

    @pytest.mark.usefixtures("_alive")
    def test_it_reports_dead_letters_and_last_successes(self, client):
        Job.objects.create(kind="x", state=Job.State.FAILED)
        checks = readyz(client)[1]["checks"]

        assert checks["dead_letters"]["detail"].startswith("1 failed")
        assert list(checks["last_success"]["stages"]) == ["worker"]

    @pytest.mark.usefixtures("_alive")
    def test_a_failing_language_model_is_reported_but_stays_ready(
        self, client, settings
    ):
        settings.LANGUAGE_PROVIDER = "fake"
        for outcome in ("answered", "failed"):
            ModelCall.objects.create(
                purpose="reflector",
                model="small",
                outcome=outcome,
                error="It is away." if outcome == "failed" else "",
                prompt_tokens=1_200,
            )

        status, answer = readyz(client)

        told = answer["checks"]["language_model"]
        assert status == 200
        assert "small: failed" in told["detail"]
        assert "It is away.; 2,400 tokens today" in told["detail"]
        assert {"answered_at", "failed_at"} <= told.keys()

    @pytest.mark.usefixtures("_alive")
    def test_pending_migrations_are_checked_until_there_are_none(
        self, client, monkeypatch
    ):
        monkeypatch.setattr(health.MigrationState, "are_applied", False)
        monkeypatch.setattr(schema_version, "count_pending", lambda: 2)
        status, answer = readyz(client)
        monkeypatch.undo()

        assert status == 503
        assert "migrations: 2 are not applied" in answer["reason"]
        assert readyz(client)[0] == 200

    @pytest.mark.usefixtures("_alive")
    def test_a_schema_of_a_newer_release_is_reported(self, client, monkeypatch):
        monkeypatch.setattr(health.MigrationState, "are_applied", False)
        MigrationRecorder(connection).record_applied("memories", "0999_later")

        status, answer = readyz(client)

        MigrationRecorder(connection).record_unapplied("memories", "0999_later")
        assert status == 503
        assert "does not know memories.0999_later" in answer["reason"]

    @pytest.mark.usefixtures("_alive")
    def test_a_redis_that_does_not_answer_is_reported(
        self, client, settings, monkeypatch
    ):
        monkeypatch.setattr(health, "PING_SECONDS", 0.05)
        with socket.create_server(("127.0.0.1", 0)) as server:
            settings.REDIS_URL = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
            status, answer = readyz(client)

        assert status == 503
        assert "broker: Redis does not answer" in answer["reason"]


class TestADatabaseThatIsAway:
    def test_it_is_told(self, client, monkeypatch):
        def refuse():
            raise OperationalError("connection refused")

        monkeypatch.setattr(health, "check_database", refuse)
        status, answer = readyz(client)

        assert status == 503
        assert answer["reason"] == "database: PostgreSQL: OperationalError"

    def test_one_that_hangs_is_not_waited_for(self, client, monkeypatch):
        thawed = threading.Event()
        monkeypatch.setattr(health, "TIMEOUT_SECONDS", 0.05)
        monkeypatch.setattr(health, "check_database", lambda: thawed.wait(10) and {})
        try:
            answers = [readyz(client) for _ in range(3)]
        finally:
            thawed.set()
            health._pending_check.result()

        assert [status for status, _ in answers] == [503] * 3
        assert "database: no answer" in answers[0][1]["reason"]

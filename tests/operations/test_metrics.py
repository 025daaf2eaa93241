from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from common.ids import uuid7
from jobs.models import Heartbeat, Job
from memory_project import health, metrics

ELSEWHERE = "203.0.113.9"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def scrape(client):
    """The samples as {(name, label, …): value}, in the order of the labels' names."""

    def scrape(**where):
        answer = client.get("/metrics", **where)
        assert answer.status_code == 200
        return samples(answer.content.decode())

    return scrape


def samples(text):
    return {
        (one.name, *(value for _, value in sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def count_of(found, *labels):
    return found.get(("memory_request_seconds_count", *labels), 0)


class TestWhoMayRead:
    def test_this_machine_may(self, scrape):
        assert scrape()

    def test_nobody_elsewhere_without_a_key(self, client):
        assert client.get("/metrics", REMOTE_ADDR=ELSEWHERE).status_code == 401

    def test_a_key_elsewhere_may(self, client_of, project):
        answer = client_of(project).get("/metrics", REMOTE_ADDR=ELSEWHERE)

        assert answer.status_code == 200
        assert answer["Content-Type"].startswith("text/plain")

    @pytest.mark.parametrize("is_https", [False, True])
    @pytest.mark.parametrize(
        ("host", "status"),
        [
            ("10.0.0.7:8000", 200),
            ("[::1]:8000", 200),
            ("memory.lan", 200),
            ("evil.example", 400),
            ("10.0.0.7.evil.example", 400),
            ("[::1", 400),
        ],
    )
    def test_it_is_asked_by_address_or_by_its_name(
        self, client, settings, host, status, is_https
    ):
        settings.ALLOWED_HOSTS = ["memory.lan"]
        settings.SECURE_SSL_REDIRECT = is_https

        answer = client.get("/metrics", headers={"host": host})

        assert answer.status_code == status


class TestRequests:
    def test_they_are_counted_by_their_route_and_status(self, alice_api, scrape):
        route = ("GET", "api/v1/memories/<uuid:memory_id>", "404")
        before = count_of(scrape(), *route)
        for _ in range(2):
            alice_api.get(f"/api/v1/memories/{uuid7()}")

        assert count_of(scrape(), *route) == before + 2

    def test_what_is_sent_makes_no_new_series(self, client, scrape):
        client.generic("BREW", "/one-pot")
        scrape()
        known = set(scrape())
        client.generic("BOIL", "/another-pot")

        assert set(scrape()) == known
        assert count_of(scrape(), "other", "", "404") >= 2

    def test_those_that_are_refused_at_once_are_among_them(self, client, scrape):
        before = count_of(scrape(), "GET", "", "400")
        client.get("/admin/", headers={"host": "elsewhere.example"})

        assert count_of(scrape(), "GET", "", "400") == before + 1


class TestState:
    def test_a_service_without_a_worker_is_not_ready(self, scrape):
        found = scrape()

        assert found[("memory_ready",)] == 0
        assert found[("memory_check_ok", "worker")] == 0
        assert found[("memory_check_ok", "database")] == 1

    def test_it_tells_of_jobs_and_stages(self, scrape):
        Heartbeat.beat("worker")
        long_ago = timezone.now() - timedelta(seconds=90)
        Job.objects.create(kind="dedup", run_after=long_ago)
        Job.objects.create(kind="dedup", state=Job.State.FAILED)
        found = scrape()

        assert found[("memory_ready",)] == 1
        assert 90 <= found[("memory_oldest_job_seconds",)] < 150
        assert found[("memory_dead_letters",)] == 1
        at = found[("memory_last_success_timestamp_seconds", "worker")]
        assert abs(at - timezone.now().timestamp()) < 60

    def test_it_answers_while_the_database_is_down(self, scrape, monkeypatch):
        def fail():
            raise OperationalError("the server closed the connection")

        monkeypatch.setattr(health, "check_database", fail)
        found = scrape()

        assert found[("memory_check_ok", "database")] == 0
        assert ("memory_dead_letters",) not in found


COUNTING = """
import django
django.setup()
from prometheus_client import Counter
Counter("counted", "A counter of a process.", ["name"]).labels("a").inc(2)
"""


def test_it_adds_up_what_all_processes_counted(tmp_path, monkeypatch):
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for _ in range(2):
        subprocess.run(
            [sys.executable, "-c", COUNTING],
            env=environment | {"DJANGO_SETTINGS_MODULE": "memory_project.settings"},
            cwd=settings.BASE_DIR,
            check=True,
            timeout=60,
        )
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))

    found = samples(metrics.render().decode())

    assert found[("counted_total", "a")] == 4

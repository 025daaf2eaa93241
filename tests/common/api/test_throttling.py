from __future__ import annotations

import secrets
import socket

import pytest
from rest_framework.test import APIClient

from common import best_effort_redis
from common.api import throttling

pytestmark = pytest.mark.django_db
PROJECTS = "/api/v1/projects"


@pytest.fixture(autouse=True)
def _frozen(time_machine):
    """In the middle of a window: no test crosses into the next one."""
    time_machine.move_to("2026-03-01T12:00:30Z", tick=False)


@pytest.fixture
def _away(settings, monkeypatch):
    """A Redis that takes connections and never answers."""
    server = socket.create_server(("127.0.0.1", 0))
    settings.REDIS_URL = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
    monkeypatch.setattr(best_effort_redis, "TIMEOUT", 0.01)
    monkeypatch.setattr(best_effort_redis.Outage, "until", 0.0)
    monkeypatch.setattr(best_effort_redis.Outage, "warn_at", 0.0)
    yield
    server.close()


class TestAKey:
    def test_the_headers_have_the_remaining_requests(self, settings, alice_api):
        settings.THROTTLE_KEY = "3/min"
        alice_api.get(PROJECTS)
        answer = alice_api.get(PROJECTS)

        assert answer.headers["X-RateLimit-Limit"] == "3"
        assert answer.headers["X-RateLimit-Remaining"] == "1"
        assert answer.headers["X-RateLimit-Reset"] == "30"

    def test_one_too_many_is_a_429(self, settings, alice_api):
        settings.THROTTLE_KEY = "2/min"
        codes = [alice_api.get(PROJECTS).status_code for _ in range(2)]
        answer = alice_api.get(PROJECTS)

        assert codes == [200, 200]
        assert (answer.status_code, answer.json()["code"]) == (429, "throttled")
        assert answer.headers["Retry-After"] == "30"
        assert answer.headers["X-RateLimit-Remaining"] == "0"

    def test_the_next_window_is_fresh(self, settings, alice_api, time_machine):
        settings.THROTTLE_KEY = "1/min"
        alice_api.get(PROJECTS)
        time_machine.shift(30)

        assert alice_api.get(PROJECTS).status_code == 200

    def test_keys_do_not_share(self, settings, alice_api, bob_api):
        settings.THROTTLE_KEY = "1/min"
        alice_api.get(PROJECTS)

        assert bob_api.get(PROJECTS).status_code == 200


class TestAProject:
    def test_its_keys_share(self, settings, alice_api, bob_api, project):
        settings.THROTTLE_PROJECT = "1/min"
        path = f"{PROJECTS}/{project.pk}"

        assert alice_api.get(path).status_code == 200
        assert bob_api.get(path).status_code == 429

    def test_a_stranger_cannot_use_it_up(
        self, settings, alice_api, charlie_api, project
    ):
        settings.THROTTLE_PROJECT = "1/min"
        path = f"{PROJECTS}/{project.pk}"
        charlie_api.get(path)

        assert alice_api.get(path).status_code == 200


class TestAStranger:
    @pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer am_wrong"}])
    def test_a_network_is_counted(self, settings, headers):
        settings.THROTTLE_ANONYMOUS = "1/hour"
        network = f"2001:db8:{secrets.token_hex(2)}:{secrets.token_hex(2)}"
        clients = [APIClient(REMOTE_ADDR=f"{network}::{number}") for number in range(2)]
        codes = [each.get(PROJECTS, headers=headers).status_code for each in clients]

        assert codes == [401, 429]


@pytest.mark.usefixtures("_away")
class TestRedisAway:
    def test_requests_are_allowed(self, settings, alice_api):
        settings.THROTTLE_KEY = "1/min"
        codes = [alice_api.get(PROJECTS).status_code for _ in range(3)]

        assert codes == [200, 200, 200]

    def test_it_is_not_called_again_for_some_seconds(self, monkeypatch):
        asked = []
        best_effort_redis.call(lambda store: store.ping())
        best_effort_redis.call(asked.append)

        assert asked == []
        monkeypatch.setattr(best_effort_redis.Outage, "until", 0.0)
        best_effort_redis.call(asked.append)
        assert len(asked) == 1

    def test_it_logs_a_warning_once_a_minute(self, monkeypatch):
        told = []
        monkeypatch.setattr(
            best_effort_redis.log, "warning", lambda *args, **more: told.append(args)
        )
        for _ in range(3):
            monkeypatch.setattr(best_effort_redis.Outage, "until", 0.0)
            best_effort_redis.call(lambda store: store.ping())

        assert told == [("redis_away",)]


@pytest.mark.parametrize(
    ("text", "requests", "seconds"),
    [("5/s", 5, 1), ("1200/min", 1200, 60), ("7/hour", 7, 3600), ("1/day", 1, 86_400)],
)
def test_a_rate_is_read(text, requests, seconds):
    assert throttling.parse_rate(text) == throttling.Rate(requests, seconds)

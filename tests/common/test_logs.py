from __future__ import annotations

import logging

import pytest


@pytest.fixture
def lines(client, caplog):
    """The lines of one request's log."""

    def ask(level=logging.INFO, **headers):
        with caplog.at_level(level, "django_structlog"):
            client.get("/healthz", headers=headers)
        return [record.msg for record in caplog.records if isinstance(record.msg, dict)]

    return ask


def test_a_finished_request_writes_one_line(lines):
    (line,) = lines()

    assert line["event"] == "request_finished"
    assert (line["request"], line["code"]) == ("GET /healthz", 200)
    assert line["request_id"]


def test_debug_logs_also_have_its_start(lines):
    events = [line["event"] for line in lines(logging.DEBUG)]

    assert events == ["request_started", "request_finished"]


@pytest.mark.parametrize(("proxies", "address"), [(0, "127.0.0.1"), (1, "203.0.113.9")])
def test_only_trusted_proxies_set_the_address(lines, settings, proxies, address):
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": proxies}

    (line,) = lines(**{"X-Forwarded-For": "198.51.100.1, 203.0.113.9"})

    assert line["ip"] == address

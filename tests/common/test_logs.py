from __future__ import annotations

import logging

import pytest

from common import logs


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


def test_no_line_has_the_query_string(client, caplog):
    with caplog.at_level(logging.DEBUG):
        client.get("/api/v1/search?q=what-bob-said&token=abc123def456")

    assert "what-bob-said" not in caplog.text
    assert "abc123def456" not in caplog.text


def test_a_line_masks_the_secret_in_an_error():
    line = {"event": "failed", "exception": "KeyError: 'password=hunter2-x'", "code": 5}

    masked = logs.mask_secrets(None, "error", line)

    assert masked["exception"] == "KeyError: 'password=[secret:password]'"
    assert masked["code"] == 5

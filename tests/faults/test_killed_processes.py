"""kill -9 of web and worker, Redis flushed, frozen and killed, during a replay.

FAULT_KILLS and FAULT_SEED choose how often and which; see `kill_replay.py`.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults import kill_replay

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("up"),
    pytest.mark.timeout(1_800),
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc"),
]
KILLS = int(os.environ.get("FAULT_KILLS", "5"))
TASKS = max(40, KILLS * 8)
SEED = int(os.environ.get("FAULT_SEED", "1"))


def answer_of(link):
    """The status and the problem; {} for a refusal by gunicorn itself."""
    answer = http.client.HTTPResponse(link)
    answer.begin()
    is_json = "json" in answer.headers["Content-Type"]
    return answer.status, json.loads(answer.read()) if is_json else {}


@pytest.fixture(scope="module")
def service():
    with kill_replay.Service() as found:
        yield found


def test_no_answered_task_is_lost_and_a_second_replay_changes_nothing(service):
    report = kill_replay.torment(
        service, kills=KILLS, count=TASKS, seed=SEED, patience=15.0
    )

    assert not report.faults, "\n".join([*report.harms, *report.faults])
    assert len(report.harms) == KILLS + 3
    assert f"accepted              {TASKS} of {TASKS}" in report.summary


class TestBodiesOverTheRealServer:
    """gunicorn reads bodies differently from the server of the other tests."""

    @pytest.fixture
    def exchange(self, service):
        def send(body, *headers):
            lines = ["POST /api/v1/memories HTTP/1.1", "Host: 127.0.0.1", *headers]
            lines += [f"Authorization: Bearer {service.key}", "Connection: close"]
            lines += ["Content-Type: application/json", "", ""]
            with socket.create_connection(("127.0.0.1", service.port), 30) as link:
                link.sendall("\r\n".join(lines).encode())
                with suppress(OSError):  # refused already: the answer is there
                    link.sendall(body)
                return answer_of(link)

        return send

    def test_fifty_megabytes(self, exchange):
        status, problem = exchange(b"x" * 50_000_000, "Content-Length: 50000000")

        assert (status, problem["code"]) == (413, "too_large")

    def test_fifty_announced_megabytes_that_do_not_come(self, exchange):
        status, problem = exchange(b"x" * 1_000, "Content-Length: 50000000")

        assert (status, problem["code"]) == (413, "too_large")

    def test_chunks(self, exchange):
        body = b'a\r\n{"a": "b"}\r\n0\r\n\r\n'
        status, problem = exchange(body, "Transfer-Encoding: chunked")

        assert (status, problem["code"]) == (400, "length_required")

    def test_fifty_megabytes_in_chunks(self, exchange):
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        status, problem = exchange(chunk * 48, "Transfer-Encoding: chunked")

        assert (status, problem["code"]) == (400, "length_required")

    @pytest.mark.parametrize("length", ["9" * 4_000, "9" * 5_000, "-1", "x", "\u00b2"])
    def test_a_length_that_is_none(self, exchange, length):
        status, _ = exchange(b"{}", f"Content-Length: {length}")

        assert 400 <= status < 500

    def test_it_still_answers_afterwards(self, service):
        assert service.insist("GET", "/readyz").status == 200

from __future__ import annotations

import socket
import time
from types import SimpleNamespace

import httpx2
import pytest

from inference.endpoint import _shut_at, retry_after


class TestRetryAfter:
    @pytest.mark.parametrize(
        ("header", "seconds"),
        [
            (None, None),
            ("", None),
            ("30", 30.0),
            ("0.5", 0.5),
            ("-3", 0.0),
            ("86400", 3600.0),
            ("nan", None),
            ("soon", None),
            ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ],
    )
    def test_it_is_read_from_seconds_or_a_date(self, header, seconds):
        assert retry_after(header) == seconds


class TestDeadlineOfAStream:
    @pytest.fixture
    def ends(self):
        ours, theirs = socket.socketpair()
        ours.settimeout(20)
        with ours, theirs:
            yield ours, theirs

    @pytest.fixture
    def response(self, ends):
        stream = SimpleNamespace(get_extra_info={"socket": ends[0]}.get)
        return SimpleNamespace(extensions={"network_stream": stream})

    def test_a_read_that_waits_ends_at_the_deadline(self, ends, response):
        ours, _ = ends

        with (
            pytest.raises(httpx2.ReadTimeout),
            _shut_at(time.monotonic() + 0.05, response),
        ):
            assert ours.recv(10) == b""

    def test_a_read_that_fails_at_the_deadline_is_a_timeout(self, ends, response):
        ours, _ = ends

        with (
            pytest.raises(httpx2.ReadTimeout),
            _shut_at(time.monotonic() + 0.05, response),
        ):
            ours.recv(10)
            raise httpx2.RemoteProtocolError("peer closed")

    def test_an_answer_in_time_keeps_its_connection(self, ends, response):
        ours, theirs = ends

        with _shut_at(time.monotonic() + 60, response):
            theirs.send(b"one")
            assert ours.recv(10) == b"one"

        theirs.send(b"two")
        assert ours.recv(10) == b"two"

    def test_a_failure_in_time_stays_what_it_is(self, response):
        with (
            pytest.raises(httpx2.RemoteProtocolError),
            _shut_at(time.monotonic() + 60, response),
        ):
            raise httpx2.RemoteProtocolError("peer closed")

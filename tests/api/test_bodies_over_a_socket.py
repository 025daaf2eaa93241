"""Bodies that are too large, chunked or late are refused by a server that runs."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import pytest
from django.db import connections

from common.caller import Role

pytestmark = pytest.mark.django_db(transaction=True)
MEMORIES = "/api/v1/memories"


@pytest.fixture
def api(client_of, project):
    return client_of(project, role=Role.OWNER)


@pytest.fixture
def link(live_server, monkeypatch):
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    place = urlsplit(live_server.url)
    with socket.create_connection((place.hostname, place.port), timeout=20) as link:
        yield link


def make_head(api, *headers):
    secret = api._credentials["HTTP_AUTHORIZATION"]
    lines = [f"POST {MEMORIES} HTTP/1.1", "Host: localhost", *headers]
    lines += [f"Authorization: {secret}", "Content-Type: application/json"]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode()


def read_answer(link):
    found = b""
    while piece := link.recv(65536):
        found += piece
    head, _, body = found.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_fifty_megabytes(api, link):
    link.sendall(make_head(api, "Content-Length: 50000000"))
    link.sendall(b"x" * 50_000_000)
    status, problem = read_answer(link)

    assert (status, problem["code"]) == (413, "too_large")


def test_chunks_are_refused(api, link):
    link.sendall(make_head(api, "Transfer-Encoding: chunked"))
    link.sendall(b'a\r\n{"a": "b"}\r\n0\r\n\r\n')
    status, problem = read_answer(link)

    assert (status, problem["code"]) == (400, "length_required")


def test_it_answers_others_while_a_body_is_missing(api, link, live_server, project):
    link.sendall(make_head(api, "Content-Length: 1000"))
    place = urlsplit(live_server.url)
    with socket.create_connection((place.hostname, place.port), timeout=20) as more:
        more.sendall(make_head(api, "Content-Length: 2") + b"{}")
        status, problem = read_answer(more)

    assert (status, problem["code"]) == (400, "invalid")

"""Who sends slowly takes no thread of the web server, and is cut off after a deadline."""

from __future__ import annotations

import asyncio
import gc
import http.client
import json
import os
import socket
import subprocess
import sys
from threading import Event

import pytest
from django.http import HttpResponse

from common.caller import SHARE
from embedded import data_folder
from memory_project.asgi import MAX_WAITING, Application, hash_secrets
from memory_project.web_worker import WebWorker
from tests.faults.kill_replay import spare_port, wait_for

HALF_HEAD = b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\nX-A: a"
HALF_BODY = (
    b"POST /api/v1/search HTTP/1.1\r\nHost: localhost\r\n"
    b'Content-Type: application/json\r\nContent-Length: 900\r\n\r\n{"query": "'
)
LARGE = "/static/drf_spectacular_sidecar/redoc/bundles/redoc.standalone.js"
CONFIGURATION = """
from runpy import run_path
globals().update(run_path({path!r}))
from memory_project import web_worker
for name, value in {limits!r}.items():
    setattr(web_worker, name, value)
"""


@pytest.fixture
def serve(tmp_path):
    """Start a web server of one process with its own limits; return its port."""
    started = []

    def start(**limits):
        port = spare_port()
        path = str(data_folder.BASE_DIR / "gunicorn.conf.py")
        own = tmp_path / "conf.py"
        own.write_text(CONFIGURATION.format(path=path, limits=limits))
        log = tmp_path / "web.log"
        environment = {
            "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "metrics"),
            "PYTHONPATH": str(data_folder.BASE_DIR),
            "WEB_BIND": f"127.0.0.1:{port}",
            "WEB_PROCESSES": "1",
            "WEB_THREADS": "2",
        }
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "gunicorn", "-c", str(own)],
                env=os.environ | environment,
                cwd=data_folder.BASE_DIR,
                stdout=output,
                stderr=output,
            )
        started.append(process)
        assert wait_for(lambda: is_healthy(port)), log.read_text()
        return port

    yield start
    for process in started:
        process.terminate()
        process.wait(30)


def is_healthy(port):
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        link.request("GET", "/healthz")
        return link.getresponse().status == 200
    except OSError:
        return False
    finally:
        link.close()


def send(port, data):
    link = socket.create_connection(("127.0.0.1", port), timeout=10)
    link.sendall(data)
    return link


def ask_for_much(port):
    """Ask for more than the buffers of a connection hold."""
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    link.connect(("127.0.0.1", port))
    link.settimeout(10)
    link.sendall(f"GET {LARGE} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 12)
    return link


def read_all(link):
    with link:
        return b"".join(iter(lambda: link.recv(65_536), b""))


def test_others_are_served_beside_half_heads_and_half_bodies(serve):
    port = serve()

    slow = [send(port, part) for part in [HALF_HEAD, HALF_BODY] * 50]

    assert all(is_healthy(port) for _ in range(20))
    for link in slow:
        link.close()


def test_a_head_and_a_body_that_come_too_late_are_refused(serve):
    port = serve(HEAD_SECONDS=0.2, BODY_SECONDS=0.2)

    for part in (HALF_HEAD, HALF_BODY):
        head, _, body = read_all(send(port, part)).partition(b"\r\n\r\n")

        assert head.startswith(b"HTTP/1.1 408 ")
        assert json.loads(body)["code"] == "slow_request"
    assert read_all(send(port, b"")) == b""


def test_beyond_the_limit_the_one_that_waits_for_longest_is_closed(serve):
    port = serve(MAX_CONNECTIONS=20)

    slow = [send(port, HALF_HEAD) for _ in range(30)]

    assert read_all(slow[0]) == b""
    assert is_healthy(port)
    slow[-1].sendall(b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    assert read_all(slow[-1]).startswith(b"HTTP/1.1 401 ")


def test_behind_a_proxy_the_client_with_most_connections_loses_one(serve, monkeypatch):
    monkeypatch.setenv("NUM_PROXIES", "1")
    port = serve(MAX_CONNECTIONS=20)

    def ask(address):
        header = b"X-Forwarded-For: " + address + b"\r\nConnection: close\r\nX-A"
        return send(port, HALF_BODY.replace(b"Content-Type", header, 1))

    one = ask(b"1.1.1.1")
    many = [ask(b"2001:db8::%d" % number) for number in range(30)]

    assert read_all(many[0]) == b""
    one.sendall(b"x" * 900)
    assert one.recv(100).startswith(b"HTTP/1.1 401 ")


def test_a_reader_that_stops_is_cut_off(serve):
    port = serve(READ_SECONDS=0.2)
    link = ask_for_much(port)

    def is_cut_off():
        try:
            link.sendall(b"\r\n")
        except OSError:
            return True
        return False

    assert wait_for(is_cut_off)
    assert is_healthy(port)


def test_readers_that_stop_leave_room_for_others(serve):
    port = serve(MAX_CONNECTIONS=20, READ_SECONDS=600)
    slow = [ask_for_much(port) for _ in range(20)]

    for link in slow:
        assert link.recv(1)

    assert wait_for(lambda: all(is_healthy(port) for _ in range(10)))
    for link in slow:
        link.close()


def test_an_answer_that_was_sent_before_its_body_ended_is_the_only_one(serve):
    port = serve(BODY_SECONDS=0.5, BYTES_PER_SECOND=10**12)
    head = HALF_BODY.replace(b"Length: 900", b"Length: 70000000")

    answer = read_all(send(port, head))

    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.startswith((b"HTTP/1.1 401 ", b"HTTP/1.1 413 "))


def test_a_secret_is_the_same_however_its_header_is_spelled():
    for header, spellings in {
        "HTTP_AUTHORIZATION": (
            "Bearer am_x",
            "bearer am_x",
            "BEARER  am_x",
            " Bearer am_x ",
        ),
        "HTTP_COOKIE": ("sessionid=x", "theme=dark; sessionid=x", "sessionid=x; a=b"),
    }.items():
        environ = [{header: each, "REMOTE_ADDR": "1.2.3.4"} for each in spellings]

        assert len({str(hash_secrets(each)) for each in environ}) == 1, header


def test_a_secret_that_was_never_admitted_has_the_share_of_its_address(settings):
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"NUM_PROXIES": 1}
    application = Application(None)
    secrets = [{}, {"HTTP_COOKIE": "sessionid=x"}]
    secrets += [{"HTTP_AUTHORIZATION": f"Bearer am_{each}"} for each in "ab"]
    one, other = "2001:db8::", "2001:db8:0:1::"

    environs = [
        {**secret, "REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": f"{one}{number}"}
        for number, secret in enumerate(secrets)
    ]
    neighbour = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": f"{other}1"}

    shares = {*map(application.share_of, environs)}
    assert len(shares) == 1
    assert application.share_of(neighbour) not in shares


def test_a_made_up_key_beside_a_session_gains_no_share():
    application = Application(None)
    session = {"HTTP_COOKIE": "sessionid=ann", "REMOTE_ADDR": "1.2.3.4"}
    application.remember_caller({**session, SHARE: "user:ann"})

    made_up = {**session, "HTTP_AUTHORIZATION": "Bearer am_made_up"}
    application.remember_caller({**made_up, SHARE: "user:ann"})

    assert application.share_of(made_up) is application.share_of(session)
    assert len(application.admitted) == 1


def test_the_keys_of_one_line_share_the_threads_and_too_much_of_it_waits_for_nothing():
    application = Application(None)
    environs = [{"HTTP_AUTHORIZATION": f"Bearer am_{each}"} for each in "ab"]
    of_address = application.share_of(environs[0])

    for environ in environs:
        application.remember_caller({**environ, SHARE: "key:x"})

    shares = [application.share_of(environ) for environ in environs]
    assert shares[0] is shares[1] is not of_address
    shares[0].requests = MAX_WAITING
    answer = asyncio.run(application.run(environs[0], 0))
    assert answer.status == 429
    assert (b"retry-after", b"1") in answer.headers


def test_the_share_of_a_client_that_left_lasts_until_its_thread_is_free():
    begun, free, environ = Event(), Event(), {"HTTP_AUTHORIZATION": "Bearer am_x"}

    def wait(*_):
        begun.set()
        free.wait(10)
        return HttpResponse()

    async def leave(application):
        request = asyncio.create_task(application.run(environ, 0))
        while not begun.is_set():
            await asyncio.sleep(0)
        request.cancel()
        while not request.done():
            await asyncio.sleep(0)
        del request
        await asyncio.sleep(0)
        gc.collect()
        return len(application.shares)

    application = Application(wait)
    try:
        assert asyncio.run(leave(application)) == 1
    finally:
        free.set()
        application.threads.shutdown()


def test_an_address_with_many_busy_connections_loses_one_and_not_the_newcomer():
    cut = []
    worker = WebWorker.__new__(WebWorker)
    worker.max_connections, worker.waiting, worker.unfinished = 3, {}, 0
    busy = [FakeConnection("9.9.9.9", cut) for _ in range(3)]
    newcomer = FakeConnection("1.1.1.1", cut)
    worker.connections = dict.fromkeys([*busy, newcomer])
    worker.waiting[newcomer] = None

    worker.make_room()

    assert cut == [busy[0]]


class FakeConnection:
    received = 0

    def __init__(self, address, cut):
        self.address = address
        self.cut_off = lambda: cut.append(self)


def test_a_length_of_thousands_of_digits_is_refused(serve):
    port = serve(BODY_SECONDS=0.5, BYTES_PER_SECOND=10**12)

    for digits in (400, 5_000):
        head = HALF_BODY.replace(b"Length: 900", b"Length: " + b"9" * digits)
        answer = read_all(send(port, head))
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 401 ", b"HTTP/1.1 413 "))
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"]
    assert is_healthy(port)


def test_a_body_that_is_too_large_is_answered_before_its_connection_goes_on(serve):
    port = serve()
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    for _ in range(2):
        link.request("POST", "/api/v1/search", bytes(70_000_000))
        answer = link.getresponse()
        assert answer.status in (401, 413), answer.read()
        answer.read()
    link.close()


def test_what_is_no_request_is_refused_with_a_code(serve):
    head, _, body = read_all(send(serve(), b"NO REQUEST\r\n\r\n")).partition(
        b"\r\n\r\n"
    )

    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in head
    assert json.loads(body)["code"] == "broken_request"

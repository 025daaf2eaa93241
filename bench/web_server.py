"""Run the web server for a measurement, with clients that time its answers."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

from access.models import ApiKey
from common.caller import Role
from projects.models import Project

START_SECONDS = 60.0
STOP_SECONDS = 20.0
LOOK_SECONDS = 0.1
MAX_CONNECTIONS = 32  # connections that an open loop may use


@dataclass(frozen=True)
class WebClient:
    """A client that sends its requests to the server one after another."""

    port: int
    project: Project
    secret: str
    path: str = "/api/v1/search"

    def ask(self, body: Mapping[str, Any]) -> None:
        self.ask_each([body])

    def ask_by(self, clients: int, bodies: Sequence[Mapping[str, Any]]) -> list[float]:
        """Send the requests from several clients at the same time.

        Return the milliseconds that each answer took.
        """
        shares = [bodies[start::clients] for start in range(clients)]
        with ThreadPoolExecutor(clients) as pool:
            return [ms for spent in pool.map(self.ask_each, shares) for ms in spent]

    def ask_every(
        self, seconds: float, bodies: Sequence[Mapping[str, Any]]
    ) -> list[float]:
        """Send requests at a fixed interval.

        A request is sent even if the request before it has no answer yet. For each
        request, return the time from the moment when it was due until its answer.
        """
        started = time.perf_counter()

        def ask_when_due(number: int) -> float:
            due = started + number * seconds
            time.sleep(max(0.0, due - time.perf_counter()))
            late = max(0.0, time.perf_counter() - due)
            return late * 1000 + self.ask_each([bodies[number]])[0]

        with ThreadPoolExecutor(MAX_CONNECTIONS) as pool:
            return list(pool.map(ask_when_due, range(len(bodies))))

    def ask_each(self, bodies: Sequence[Mapping[str, Any]]) -> list[float]:
        with self.connect() as ask:
            return [ask(body) for body in bodies]

    @contextmanager
    def connect(self) -> Iterator[Callable[[Mapping[str, Any]], float]]:
        """Yield a function that sends a request and returns how long its answer took.

        All requests use one connection.
        """
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with closing(link):
            yield partial(self._measure_ms, link)

    def _measure_ms(
        self, link: http.client.HTTPConnection, body: Mapping[str, Any]
    ) -> float:
        headers = {
            "Authorization": f"Bearer {self.secret}",
            "Content-Type": "application/json",
        }
        text = json.dumps({"project_id": str(self.project.pk), **body})
        started = time.perf_counter()
        link.request("POST", self.path, text, headers)
        answer = link.getresponse()
        content = answer.read()
        spent = time.perf_counter() - started
        if answer.status >= http.client.MULTIPLE_CHOICES:
            raise CommandError(f"{self.path} failed: {content.decode()[:500]}")
        return spent * 1000


@contextmanager
def serve(project: Project, path: str = WebClient.path) -> Iterator[WebClient]:
    """Run the web server as `manage.py up` does.

    The client of the server has a key, which is deleted at the end of the block.
    """
    port = _free_port()
    key, secret = ApiKey.new(name="benchmark", role=Role.VIEWER)
    key.save()
    key.projects.set([project])
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py"],
            cwd=settings.BASE_DIR,
            env=_environment(port),
            stdout=log,
            stderr=log,
        )
        try:
            _wait_until_ready(server, port, log)
            yield WebClient(port, project, secret, path)
        finally:
            server.terminate()
            server.wait(STOP_SECONDS)
            key.delete()


def _environment(port: int) -> dict[str, str]:
    """Return the environment of the web server.

    It is that of this process, with the same database, but without throttles.
    """
    url = urlsplit(os.environ["DATABASE_URL"])
    database = url._replace(path=f"/{connection.settings_dict['NAME']}")
    return os.environ | {
        "WEB_BIND": f"127.0.0.1:{port}",
        "DATABASE_URL": database.geturl(),
        "EMBEDDING_PROVIDER": settings.EMBEDDING_PROVIDER,
        "HTTPS": "false",
        "THROTTLE_KEY": "",
        "THROTTLE_PROJECT": "",
    }


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(server: subprocess.Popen[bytes], port: int, log: Any) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _is_answering(port):
        if server.poll() is not None or time.monotonic() > deadline:
            log.seek(0)
            raise CommandError(f"The web server did not start: {log.read()[-1000:]!r}")
        time.sleep(LOOK_SECONDS)


def _is_answering(port: int) -> bool:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with closing(link):
        try:
            link.request("GET", "/healthz")
            return link.getresponse().status == http.client.OK
        except OSError:
            return False

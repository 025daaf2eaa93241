"""The service on one machine: its processes, started in order and kept alive."""

from __future__ import annotations

import argparse
import http.client
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from memory_project import embedded
from memory_project.children import Child

LOOK_SECONDS = 0.1
STOP_SECONDS = 20.0  # what a task in hand may take; a killed one is leased again
RETRY_SECONDS = 5.0
SLOW_START_SECONDS = 20.0  # after these the reason of a 503 is shown

Say = Callable[[str], None]


@dataclass
class Prepared:
    """What must stay open until this process ends."""

    lock: embedded.Lock
    servers: embedded.Use | None


prepared: Prepared | None = None


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--data", help="folder of the data; DATA_DIR names it too")
    parser.add_argument(
        "--reset-admin",
        action="store_true",
        help="make a new password for the admin and a new API key",
    )


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def prepare(arguments: list[str]) -> None:
    """Refuse what cannot work and start the servers, before the settings are read."""
    global prepared
    parser = argparse.ArgumentParser()
    add_options(parser)
    options, _ = parser.parse_known_args(arguments)
    stop_on_signals()
    folder = embedded.data_folder(options.data)
    home = embedded.make_home(folder)
    lock = claim(home)
    refuse_taken_port(options.host, options.port)
    say(f"Data: {folder}")
    began = time.monotonic()
    servers = embedded.ensure(folder)
    prepared = Prepared(lock, servers)
    if servers:
        say(f"PostgreSQL and Redis: running ({time.monotonic() - began:.1f} s)")
    else:
        say("PostgreSQL and Redis: those of DATABASE_URL and REDIS_URL")


def claim(home: embedded.Home) -> embedded.Lock:
    lock = embedded.Lock(home.folder / "up.lock")
    if not lock.take_at_once():
        raise embedded.EmbeddedError(
            f"`manage.py up` already runs on {home.folder}. Stop it first, or name "
            "another folder with --data."
        )
    return lock


def refuse_taken_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        raise embedded.EmbeddedError(
            f"{host}:{port} cannot be listened on ({error.strerror}). Stop what uses "
            "it, or choose another port with --port."
        ) from error


def stop_on_signals() -> None:
    def stop(*_: object) -> NoReturn:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        raise SystemExit(0)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def children(*, host: str, port: int, data: Path) -> list[Child]:
    """Web, worker and beat, in the order in which they start and stop."""
    metrics = data / "metrics"
    shutil.rmtree(metrics, ignore_errors=True)
    metrics.mkdir(mode=0o700)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    environment = os.environ | {
        "WEB_BIND": address,
        "PROMETHEUS_MULTIPROC_DIR": str(metrics),
        "PYTHONUNBUFFERED": "1",
    }
    celery = [sys.executable, "-m", "celery", "-A", "memory_project.celery:app"]
    commands = {
        "web": [sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py"],
        "worker": [
            *[*celery, "worker", "--concurrency", os.environ.get("WORKERS", "2")],
            *["--without-gossip", "--without-mingle", "--without-heartbeat"],
        ],
        "beat": [
            *[*celery, "beat", "--pidfile", "", "--schedule", str(data / "beat")],
        ],
    }
    return [
        Child(
            name=name,
            command=command,
            log=data / "logs" / f"{name}.log",
            folder=embedded.BASE_DIR,
            environment=environment,
        )
        for name, command in commands.items()
    ]


def run(family: list[Child], *, url: str, say: Say) -> NoReturn:
    """Start the children and tend them until a signal ends this process."""
    try:
        for child in family:
            child.start()
        wait_until_ready(family, url=url, say=say)
        while True:
            tend(family, say=say)
            time.sleep(LOOK_SECONDS)
    finally:
        stop(family, say=say)


def wait_until_ready(family: list[Child], *, url: str, say: Say) -> None:
    began = time.monotonic()
    explained = False
    while (answer := ask(url)).status != http.client.OK:
        for child in family:
            if not child.is_running:
                say(f"{child.name} ended at its start:\n{child.last_words()}")
                raise SystemExit(1)
        if not explained and time.monotonic() - began > SLOW_START_SECONDS:
            explained = True
            say(f"Not ready yet: {answer.reason}")
        time.sleep(LOOK_SECONDS)
    say(f"Ready: {url}")


@dataclass(frozen=True)
class Answer:
    status: int
    reason: str


def ask(url: str) -> Answer:
    host, _, port = url.removeprefix("http://").rstrip("/").rpartition(":")
    link = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=5)
    try:
        link.request("GET", "/readyz")
        answer = link.getresponse()
        return Answer(answer.status, answer.read(500).decode(errors="replace"))
    except (OSError, http.client.HTTPException) as error:
        return Answer(0, str(error))
    finally:
        link.close()


def tend(family: list[Child], *, say: Say) -> None:
    for child in family:
        if said := child.tend():
            say(said)
    servers = prepared.servers if prepared else None
    try:
        if servers and servers.revive():
            say("PostgreSQL and Redis had lost their keeper; they run again")
    except embedded.EmbeddedError as error:
        say(f"{error}\nTrying again in {RETRY_SECONDS:g} s")
        time.sleep(RETRY_SECONDS)


def stop(family: list[Child], *, say: Say) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for child in family:
        say(f"Stopping {child.name}")
        with suppress(ChildProcessError):
            child.stop(seconds=STOP_SECONDS)
    if prepared and prepared.servers:
        say("Stopping Redis and PostgreSQL")
        prepared.servers.end()
    say("Stopped")

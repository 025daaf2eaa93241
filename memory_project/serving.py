"""The service on one machine: its processes, started in order and kept alive."""

from __future__ import annotations

import argparse
import hashlib
import http.client
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from memory_project import counts, embedded
from memory_project.children import Child

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOPBACK = ("127.0.0.1", "localhost", "::1")
LOOK_SECONDS = 0.1
STOP_SECONDS = 20.0  # what a task in hand may take; a killed one is leased again
RETRY_SECONDS = 5.0
# After these the reason of a 503 is shown, and what dies is started again.
SLOW_START_SECONDS = 20.0


@dataclass
class Prepared:
    """What must stay open until this process ends."""

    lock: embedded.Lock
    servers: embedded.Use | None
    family: list[Child]


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
    family = children(host=options.host, port=options.port, data=folder)
    prepared = Prepared(lock, servers, family)
    if servers:
        say(f"PostgreSQL and Redis: running ({time.monotonic() - began:.1f} s)")
    else:
        say("PostgreSQL and Redis: those of DATABASE_URL and REDIS_URL")
    if options.host not in LOOPBACK and not embedded.is_given("ALLOWED_HOSTS"):
        say("Other machines are refused until ALLOWED_HOSTS names this one")
    if schema_mark(folder).is_current():
        # Web loads on one core while this process loads Django on the other.
        family[0].start()


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
    def end(*_: object) -> NoReturn:
        ignore_signals()
        raise SystemExit(0)

    for number in STOP_SIGNALS:
        signal.signal(number, end)


def ignore_signals() -> None:
    """A second Ctrl-C must not cut the orderly end short."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def children(*, host: str, port: int, data: Path) -> list[Child]:
    """Web, worker and beat, in the order in which they start and stop."""
    counted = counts.made_for(data)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    environment = os.environ | {
        "WEB_BIND": address,
        "PROMETHEUS_MULTIPROC_DIR": str(counted),
        "PYTHONUNBUFFERED": "1",
    }
    celery = [sys.executable, "-m", "celery", "--quiet"]
    celery += ["-A", "memory_project.celery:app"]
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


@dataclass(frozen=True)
class SchemaMark:
    """A note in the data folder that this code's migrations are all applied."""

    path: Path
    text: str

    def is_current(self) -> bool:
        return self.path.exists() and self.path.read_text() == self.text

    def write(self) -> None:
        self.path.write_text(self.text)


def schema_mark(data: Path) -> SchemaMark:
    """What decides about migrations: their files, the packages and the database."""
    digest = hashlib.sha256(os.environ.get("DATABASE_URL", "").encode())
    digest.update((embedded.BASE_DIR / "requirements.lock").read_bytes())
    for path in sorted(embedded.BASE_DIR.glob("*/migrations/*.py")):
        digest.update(os.fsencode(path))
    return SchemaMark(data / "schema", digest.hexdigest())


@contextmanager
def stopped_at_the_end() -> Iterator[None]:
    """However the block ends, nothing that `prepare` started stays."""
    assert prepared
    try:
        yield
    finally:
        stop(prepared)


def run(*, url: str) -> NoReturn:
    """Start the children and tend them until a signal ends this process."""
    assert prepared
    for child in prepared.family:
        if child.process is None:
            child.start()
    wait_until_ready(prepared, url=url)
    while True:
        tend(prepared)
        time.sleep(LOOK_SECONDS)


def wait_until_ready(service: Prepared, *, url: str) -> None:
    began = time.monotonic()
    is_slow = False
    while (answer := ask(url)).status != http.client.OK:
        if is_slow:
            tend(service)
        elif time.monotonic() - began > SLOW_START_SECONDS:
            is_slow = True
            say(f"Not ready yet: {answer.reason}")
        else:
            refuse_ended(service.family)
        time.sleep(LOOK_SECONDS)
    say(f"Ready: {url}")


def refuse_ended(family: list[Child]) -> None:
    for child in family:
        if not child.is_running:
            say(f"{child.name} ended at its start:\n{child.last_words()}")
            raise SystemExit(1)


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


def tend(service: Prepared) -> None:
    for child in service.family:
        if said := child.tend():
            say(said)
    try:
        if service.servers and service.servers.revive():
            say("PostgreSQL and Redis had lost their keeper; they run again")
    except embedded.EmbeddedError as error:
        say(f"{error}\nTrying again in {RETRY_SECONDS:g} s")
        time.sleep(RETRY_SECONDS)


def stop(service: Prepared) -> None:
    ignore_signals()
    for child in service.family:
        if child.process:
            say(f"Stopping {child.name}")
            child.stop(seconds=STOP_SECONDS)
    if service.servers:
        say("Stopping Redis and PostgreSQL")
        service.servers.end()
    say("Stopped")

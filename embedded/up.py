"""Run the service on one machine: start its processes in order and keep them alive."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shlex
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import urlsplit

from embedded import data_folder, metrics_folder, schema_mark, servers, service_note
from embedded.children import ChildProcess
from embedded.data_folder import BASE_DIR, DataFolder, EmbeddedError
from embedded.file_lock import FileLock

HELP = "Run the whole service: servers, web, worker and beat, until Ctrl-C."
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOPBACK = ("127.0.0.1", "localhost", "::1")
LOOK_SECONDS = 0.1
STOP_SECONDS = 20.0  # the time for a running task to end; a killed one is leased again
RETRY_SECONDS = 5.0
AM = BASE_DIR / "bin" / "am"  # the image of a container has none
MAX_ANSWER = 100_000  # bytes of an answer of /readyz
# After this, and each time again, what is not ready is printed. From the first time on, a
# child that dies is restarted.
SAY_SECONDS = 5.0
# From then on, a child that ends is restarted; before, it ends the service.
SLOW_START_SECONDS = 20.0


@dataclass
class Service:
    """The lock, servers and children of this process, in use until it ends."""

    lock: FileLock
    server_use: servers.ServerUse | None
    children: list[ChildProcess]
    needs_data: bool = False  # `am connect` does not find the data without its path


current_service: Service | None = None


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port",
        type=int,
        default=8000,
        help="port that the service listens on; by default 8000",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address that the service listens on; by default 127.0.0.1, this machine only",
    )
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
    """Refuse options that cannot work, and start the servers, before the settings are read."""
    global current_service
    parser = argparse.ArgumentParser()
    add_options(parser)
    options, _ = parser.parse_known_args(arguments)
    stop_on_signals()
    data = data_folder.create(data_folder.locate(options.data))
    lock = lock_data_folder(data)
    refuse_taken_port(options.host, options.port)
    # Another server's data is not in the folder.
    is_here = not servers.is_set("DATABASE_URL")
    note = service_note.leave(data.path, port=options.port) if is_here else None
    say(f"Data: {data.path}")
    began = time.monotonic()
    server_use = servers.ensure(data.path)
    children = service_processes(host=options.host, port=options.port, data=data)
    current_service = Service(lock, server_use, children, is_here and not note)
    if server_use:
        say(f"PostgreSQL and Redis: running ({time.monotonic() - began:.1f} s)")
    else:
        say("PostgreSQL and Redis: those of DATABASE_URL and REDIS_URL")
    if options.host not in LOOPBACK and not servers.is_set("ALLOWED_HOSTS"):
        say("Other machines are refused until ALLOWED_HOSTS names this one")
    if schema_mark.for_data_folder(data.path).is_current():
        # The web server loads on one core while this process loads Django on another.
        children[0].start()


def lock_data_folder(data: DataFolder) -> FileLock:
    lock = FileLock(data.path / "up.lock")
    if not lock.try_acquire():
        raise EmbeddedError(
            f"`manage.py up` already runs on {data.path}. Stop it first, or name "
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
        raise EmbeddedError(
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
    """Ignore a second Ctrl-C, which would cut the orderly stop short."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def service_processes(*, host: str, port: int, data: DataFolder) -> list[ChildProcess]:
    """Return web, worker and beat, in the order in which they start and stop."""
    metrics = metrics_folder.create_for(data.path)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    environment = os.environ | {
        "WEB_BIND": address,
        "PROMETHEUS_MULTIPROC_DIR": str(metrics),
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
            *[*celery, "beat", "--pidfile", "", "--schedule", str(data.path / "beat")],
        ],
    }
    return [
        ChildProcess(
            name=name,
            command=command,
            log=data.logs / f"{name}.log",
            folder=BASE_DIR,
            environment=environment,
        )
        for name, command in commands.items()
    ]


@contextmanager
def stop_at_end() -> Iterator[None]:
    """Stop everything that `prepare` started when the block ends, even with an error."""
    assert current_service
    try:
        yield
    finally:
        stop(current_service)


def run(*, url: str, credentials: Sequence[str] = ()) -> NoReturn:
    """Start the children and restart them until a signal ends this process.

    The lines of `credentials` are said once the service answers, or could not start: nobody
    can read them a second time.
    """
    assert current_service
    for child in current_service.children:
        if child.process is None:
            child.start()
    try:
        wait_until_ready(current_service, url=url)
    finally:
        for line in credentials:
            say(line)
    say_next_step(current_service, url=url)
    while True:
        restart_exited(current_service)
        time.sleep(LOOK_SECONDS)


def wait_until_ready(service: Service, *, url: str) -> None:
    say("Starting the web server, the worker and the scheduler")
    began = said = time.monotonic()
    while (answer := ask_readiness(url)).status != http.client.OK:
        now = time.monotonic()
        if now - said > SAY_SECONDS:
            said = now
            say(f"Still starting after {now - began:.0f} s: {answer.reason}")
        if now - began > SLOW_START_SECONDS:
            restart_exited(service)
        else:
            refuse_exited(service.children)
        time.sleep(LOOK_SECONDS)
    say(f"Ready: {url}")


def say_next_step(service: Service, *, url: str) -> None:
    if AM.is_file():
        words = [str(AM), "connect", "--server", url.rstrip("/")]
        if urlsplit(url).hostname not in LOOPBACK:
            words += ["--key", "KEY"]  # it makes one itself for a local service only
        elif service.needs_data:
            words += ["--data", os.environ["DATA_DIR"]]
        say(f"Next: cd into your project and run {shlex.join(words)}")
    say("Ctrl-C stops it.")


def refuse_exited(children: list[ChildProcess]) -> None:
    for child in children:
        if not child.is_running:
            say(f"{child.name} ended at its start:\n{child.last_words()}")
            raise SystemExit(1)


@dataclass(frozen=True)
class ReadyAnswer:
    status: int
    reason: str


def ask_readiness(url: str) -> ReadyAnswer:
    host, _, port = url.removeprefix("http://").rstrip("/").rpartition(":")
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=5)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        return ReadyAnswer(answer.status, read_reason(answer.read(MAX_ANSWER)))
    except (ConnectionRefusedError, TimeoutError):
        return ReadyAnswer(0, "the web server loads")
    except (OSError, http.client.HTTPException) as error:
        return ReadyAnswer(0, str(error))
    finally:
        connection.close()


def read_reason(body: bytes) -> str:
    """Return what is not ready; without what to do about it, which this process does."""
    try:
        reason = json.loads(body)["reason"]
    except (ValueError, TypeError, KeyError):
        reason = body.decode(errors="replace")
    return str(reason).partition(";")[0]


def restart_exited(service: Service) -> None:
    for child in service.children:
        if message := child.restart_if_dead():
            say(message)
    try:
        if service.server_use and service.server_use.ensure_supervisor():
            say("PostgreSQL and Redis lost their supervisor; they run again")
    except EmbeddedError as error:
        say(f"{error}\nTrying again in {RETRY_SECONDS:g} s")
        time.sleep(RETRY_SECONDS)


def stop(service: Service) -> None:
    ignore_signals()
    for child in service.children:
        if child.process:
            say(f"Stopping {child.name}")
            child.stop(seconds=STOP_SECONDS)
    if service.server_use:
        say("Stopping Redis and PostgreSQL")
        service.server_use.end()
    say("Stopped")


if __name__ == "__main__":  # `bin/up --help`, before anything is installed
    parser = argparse.ArgumentParser("bin/up", description=HELP)
    add_options(parser)
    parser.parse_args()

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from agent_memory import keys

from embedded import data_folder, metrics_folder, service_note, supervisor, up
from embedded.children import ChildProcess
from embedded.file_lock import FileLock
from tests.faults import kill_replay
from tests.servers import scratch_folder

# Each start loads Django four times, on a machine that may be busy.
pytestmark = pytest.mark.timeout(300)

OURS = ("DATABASE_URL", "REDIS_URL", "DATA_DIR", "SECRET_KEY", "CELERY_BROKER_URL")
START_SECONDS = 150


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(data_folder.BASE_DIR / "manage.py"), *arguments]


def environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name not in OURS and not name.startswith(("PYTEST", "COV_"))
    }


class Service:
    """One `manage.py up`, and its output so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[str]

    def start(self, *more: str, until: str = "Ctrl-C stops it.") -> Service:
        self.lines: list[str] = []
        arguments = ["up", "--port", str(self.port), "--data", str(self.folder), *more]
        self.process = subprocess.Popen(
            command(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(),
            text=True,
        )
        threading.Thread(target=self.read, daemon=True).start()
        assert eventually(
            lambda: lines_with(self.lines, until) or self.process.poll() is not None
        )
        assert lines_with(self.lines, until), "\n".join(self.lines)
        return self

    def read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def get(self, path: str) -> int:
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            link.request("GET", path)
            return link.getresponse().status
        except OSError:
            return 0
        finally:
            link.close()

    def processes(self) -> dict[int, str]:
        """Return every process of this service but the one started here."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and self.owns(entry):
                found[int(entry.name)] = supervisor.command_line(int(entry.name))
        return found

    def owns(self, entry: Path) -> bool:
        line = supervisor.command_line(int(entry.name))
        if str(self.folder) in line and "up\0" not in line:
            return True
        try:
            variables = (entry / "environ").read_bytes().decode(errors="replace")
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            return False
        return f"DATA_DIR={self.folder}" in variables and bool(line)


def lines_with(lines: list[str], start: str) -> list[str]:
    return [line for line in lines if line.startswith(start)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(condition, *, seconds: float = START_SECONDS):
    deadline = time.monotonic() + seconds
    while not (held := condition()) and time.monotonic() < deadline:
        threading.Event().wait(0.1)
    return held


def refusal(*arguments: str) -> str:
    done = subprocess.run(
        command("up", *arguments),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    return done.stderr


@dataclass(frozen=True)
class Life:
    """A first start and its end by SIGTERM: what it answered, said and left running."""

    folder: Path
    answers: dict[str, int]
    lines: list[str]
    status: int
    left: dict[int, str]


@pytest.fixture(scope="module")
def first_life():
    service = Service(scratch_folder()).start()
    answers = {path: service.get(path) for path in ("/healthz", "/readyz", "/metrics")}
    status = service.stop()
    yield Life(service.folder, answers, service.lines, status, service.processes())
    shutil.rmtree(service.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def service(first_life):
    """A second start on the same data."""
    service = Service(first_life.folder).start("--reset-admin")
    yield service
    service.stop()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")
class TestUp:
    def test_a_second_one_on_the_same_folder_is_refused(self, service):
        reason = refusal("--data", str(service.folder), "--port", str(free_port()))

        assert "already runs on" in reason

    def test_a_taken_port_is_refused_before_anything_starts(self, service):
        folder = scratch_folder()
        reason = refusal("--data", str(folder), "--port", str(service.port))

        assert "choose another port" in reason
        assert not (folder / "postgres").exists()
        shutil.rmtree(folder)

    def test_another_command_uses_the_same_servers(self, service):
        done = subprocess.run(
            command("migrate", "--check"),
            env=environment() | {"DATA_DIR": str(service.folder)},
            check=False,
            timeout=60,
        )

        assert done.returncode == 0
        assert service.get("/readyz") == 200

    def test_it_says_what_to_do_next(self, service):
        assert eventually(lambda: "Ctrl-C stops it." in service.lines)

        [line] = lines_with(service.lines, "Next: ")
        am = data_folder.BASE_DIR / "bin/am"
        server = f"--server http://127.0.0.1:{service.port}"
        assert line == f"Next: cd into your project and run {am} connect {server}"

    def test_a_command_without_a_data_folder_uses_the_one_of_the_service(
        self, service, monkeypatch
    ):
        for name in OURS:
            monkeypatch.delenv(name, raising=False)

        assert service_note.locate(port=service.port) == service.folder
        address = f"http://127.0.0.1:{service.port}"
        assert keys.locate_data(address, data="") == service.folder

    def test_a_killed_worker_is_started_again(self, service):
        def running() -> set[int]:
            lines = service.processes().items()
            return {pid for pid, line in lines if "worker\0" in line}

        before = running()
        for pid in before:
            os.kill(pid, signal.SIGKILL)

        assert eventually(lambda: running() - before)


class TestFirstStart:
    def test_it_answers_when_it_says_ready(self, first_life):
        assert set(first_life.answers.values()) == {200}

    def test_it_keeps_its_secrets_private(self, first_life):
        mode = (first_life.folder / "secret_key").stat().st_mode

        assert stat.S_IMODE(mode) == 0o600

    def test_it_says_the_password_after_it_answers(self, first_life):
        places = [
            at
            for start in ("Ready: ", "Admin: ", "API key: ")
            for at, line in enumerate(first_life.lines)
            if line.startswith(start)
        ]

        assert places == sorted(places)
        assert not [line for line in first_life.lines if "timed out" in line]

    def test_it_prints_the_admin_and_the_key_once(self, first_life):
        (admin,) = lines_with(first_life.lines, "Admin: ")
        (key,) = lines_with(first_life.lines, "API key: ")

        assert re.fullmatch(r"Admin: admin / \S{12,}", admin)
        assert re.fullmatch(r"API key: am_\S{30,}", key)

    def test_sigterm_ends_everything_in_order(self, first_life):
        stops = lines_with(first_life.lines, "Stopp")

        assert first_life.status == 0
        assert first_life.left == {}
        assert stops == [
            "Stopping web",
            "Stopping worker",
            "Stopping beat",
            "Stopping Redis and PostgreSQL",
            "Stopped",
        ]

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_while_the_servers_start_ends_them(self, number):
        service = Service(scratch_folder()).start(until="Data: ")
        assert eventually(service.processes)

        service.process.send_signal(number)

        assert service.process.wait(60) == 0
        assert service.processes() == {}
        shutil.rmtree(service.folder)

    @pytest.mark.slow
    def test_a_killed_parent_leaves_nothing_running(self):
        service = Service(scratch_folder()).start(until="PostgreSQL and Redis: ")

        service.process.kill()

        assert eventually(lambda: not service.processes())
        metrics_folder.remove_for(service.folder)
        shutil.rmtree(service.folder)


@pytest.mark.slow
class TestSecondStart:
    def test_it_keeps_the_data(self, service):
        assert not lines_with(service.lines, "Migrations: ")

    def test_it_makes_a_new_password_and_key_on_demand(self, first_life, service):
        for start in ("Admin: ", "API key: "):
            assert (
                lines_with(first_life.lines, start)
                != lines_with(service.lines, start)
                != []
            )


def test_the_services_of_the_tests_leave_no_note_in_the_checkout():
    for variables in (environment(), kill_replay.Service().environment):
        notes = Path(variables["SERVICE_NOTES"])
        assert not notes.is_relative_to(data_folder.BASE_DIR)


class TestNextStep:
    """The line that `up` prints last can be run as it stands."""

    @pytest.fixture
    def words(self, tmp_path, monkeypatch, capsys):
        """Return what comes after `connect` for a host of a service that is prepared."""
        monkeypatch.setattr(up, "current_service", None)
        monkeypatch.setattr(up, "stop_on_signals", lambda: None)
        monkeypatch.setattr(up.servers, "ensure", lambda _: None)
        monkeypatch.setattr(up, "service_processes", lambda **_: [])
        monkeypatch.setattr(up, "AM", Path(__file__))
        monkeypatch.setenv("DATA_DIR", str(tmp_path))
        monkeypatch.delenv("DATABASE_URL")

        def find_words(url="http://127.0.0.1:8000/"):
            up.prepare(["--data", str(tmp_path), "--port", str(free_port())])
            up.say_next_step(up.current_service, url=url)
            up.current_service.lock.release()
            return capsys.readouterr().out.partition(" connect ")[2].splitlines()[0]

        return find_words

    def test_it_names_the_server_also_on_the_usual_port(self, words, monkeypatch):
        monkeypatch.setattr(up.service_note, "leave", lambda *_, **__: "a note")

        assert words() == "--server http://127.0.0.1:8000"

    def test_it_names_the_data_where_no_note_could_be_left(
        self, words, monkeypatch, tmp_path
    ):
        monkeypatch.setattr(up.service_note, "leave", lambda *_, **__: None)

        assert words() == f"--server http://127.0.0.1:8000 --data {tmp_path}"

    def test_another_machine_needs_a_key(self, words, monkeypatch):
        monkeypatch.setattr(up.service_note, "leave", lambda *_, **__: None)

        assert words("http://10.0.0.1:80/") == "--server http://10.0.0.1:80 --key KEY"

    def test_a_database_elsewhere_has_no_data_folder_to_name(self, words, monkeypatch):
        left = []
        monkeypatch.setattr(up.service_note, "leave", lambda *a, **_: left.append(a))
        monkeypatch.setenv("DATABASE_URL", "postgresql:///elsewhere")

        assert words() == "--server http://127.0.0.1:8000"
        assert left == []


class TestSlowStart:
    @pytest.fixture
    def slow_service(self, tmp_path):
        """A service whose one child ends at once."""
        say = [sys.executable, "-c", "print('begun')"]
        child = ChildProcess("worker", say, tmp_path / "worker.log", tmp_path)
        child.start()
        yield up.Service(FileLock(tmp_path / "up.lock"), None, [child])
        child.stop(seconds=5)

    @pytest.fixture
    def url(self, slow_service):
        """Return a URL that answers 200 once the child was started twice."""
        (child,) = slow_service.children

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                is_ready = child.last_words().count("begun") > 1
                self.send_response(200 if is_ready else 503)
                self.end_headers()

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever).start()
            yield f"http://127.0.0.1:{server.server_port}/"
            server.shutdown()

    def test_a_child_that_dies_during_it_is_restarted(
        self, slow_service, url, monkeypatch, capsys
    ):
        monkeypatch.setattr(up, "SLOW_START_SECONDS", 0)

        up.wait_until_ready(slow_service, url=url)

        assert "worker ended with status 0" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            (
                b'{"reason": "worker: none has shown life; start one"}',
                "worker: none has shown life",
            ),
            (b"Bad gateway", "Bad gateway"),
            (b"[]", "[]"),
        ],
    )
    def test_what_is_not_ready_is_said_in_words(self, body, reason):
        assert up.read_reason(body) == reason

    def test_a_child_that_dies_before_it_ends_the_service(
        self, slow_service, url, capsys
    ):
        with pytest.raises(SystemExit):
            up.wait_until_ready(slow_service, url=url)

        assert "worker ended at its start:\nbegun" in capsys.readouterr().out

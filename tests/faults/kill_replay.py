"""Replay tasks into the real service while its processes are killed, then check it.

    python -m tests.faults.kill_replay --kills 20 --tasks 200 --seed 1

Starts `manage.py up` on a folder of its own, sends every task over HTTP until it is
answered, kills a process at random moments, flushes and stops Redis, and checks through
the API that nothing is missing and that a second replay changes nothing.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ace import recorded_tasks
from embedded import data_folder

PROJECT, AGENT = "replayed", "replay"
SENDERS = 3
LEFT_TO_WORKERS = 4  # every so many tasks only ask for the memory at once
PATIENCE = 180.0  # seconds: a killed job's lease is two minutes
START_SECONDS = 150.0
# Variables of the tests' own servers.
OURS = (
    "DATABASE_URL",
    "REDIS_URL",
    "DATA_DIR",
    "SECRET_KEY",
    "CELERY_BROKER_URL",
    "DJANGO_SETTINGS_MODULE",
)


def made_up(count: int) -> list[dict[str, Any]]:
    """Tasks that differ: some repair a failed call, some fail, some say little."""
    areas = ("harbour", "crane", "ledger", "beacon", "turbine", "orchard", "archive")
    found = []
    for n in range(count):
        area = areas[n % len(areas)]
        path = f"src/{area}/part_{n}.py"
        bad = {
            "tool_name": "edit_file",
            "arguments": {"file": path},
            "result": f"TypeError: edit_{area}() got an unexpected keyword 'file'",
        }
        good = {"tool_name": "edit_file", "arguments": {"path": path}, "result": "ok"}
        row = {
            "goal": f"Task {n}: teach the {area} to count to {n * 37 + 11}",
            "result": f"The {area} counts to {n * 37 + 11} and stops at part {n}",
            "tool_usage": [bad, good] if n % 3 == 0 else [good],
            "feedback": f"{n + 2} passed, {n % 4} failed" if n % 2 else "",
            "feedback_source": "test" if n % 2 else "agent",
            "outcome": ("success", "failure", "partial")[n % 3],
        }
        found.append(row)
    return found


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any


def spare_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def is_of(pid: int, folder: Path) -> bool:
    if str(folder) in command_line(pid):
        return True
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return False
    return f"DATA_DIR={folder}" in variables


class Service:
    """One `manage.py up` in a folder that is removed at the end."""

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        if os.geteuid() == 0:
            parent = data_folder.SYSTEM_FOLDER
        self.folder = parent / f"test-kill-{secrets.token_hex(4)}"
        self.port = spare_port()
        self.lines: list[str] = []
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Service:
        arguments = ["up", "--port", str(self.port), "--data", str(self.folder)]
        self.process = subprocess.Popen(
            [sys.executable, str(data_folder.BASE_DIR / "manage.py"), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.environment,
            text=True,
        )
        threading.Thread(target=self.read, daemon=True).start()
        wait_for(
            lambda: self.said("Ctrl-C stops it.") or self.process.poll() is not None
        )
        if not self.said("Ctrl-C stops it."):
            raise RuntimeError("It did not start:\n" + "\n".join(self.lines))
        self.key = self.said("API key: ")[0].partition(": ")[2]
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in OURS and not name.startswith(("PYTEST", "COV_"))
        }
        own = {"SERVICE_NOTES": str(self.folder / "notes")}
        return kept | own | {"THROTTLE_KEY": "", "THROTTLE_PROJECT": ""}

    def read(self) -> None:
        assert self.process and self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def said(self, start: str) -> list[str]:
        return [line for line in self.lines if line.startswith(start)]

    def ask(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> Answer | None:
        """Send one request; return None if nobody answers."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers["Authorization"] = f"Bearer {self.key}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            data = None if body is None else json.dumps(body).encode()
            link.request(method, path, data, headers)
            answer = link.getresponse()
            return Answer(answer.status, json.loads(answer.read()))
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            link.close()

    def insist(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> Answer:
        """Repeat a request until the service answers it."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            answer = self.ask(method, path, body, **headers)
            if answer and answer.status not in (409, 429, 502, 503):
                return answer
            time.sleep(0.3)
        raise RuntimeError(f"{method} {path} is not answered: {answer}")

    def everything(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield every row of a list, page by page."""
        joined = "&" if "?" in path else "?"
        address: str | None = f"/api/v1/{path}{joined}project_id={PROJECT}&limit=100"
        while address:
            page = self.insist("GET", address).body
            yield from page["results"]
            following = page["next"]
            address = following and "/api/" + following.partition("/api/")[2]

    def processes(self, *words: str) -> list[int]:
        """Return its processes whose command line has one of the words."""
        found = []
        for entry in Path("/proc").iterdir():
            pid = int(entry.name) if entry.name.isdigit() else 0
            line = command_line(pid) if pid else ""
            if any(word in line for word in words) and is_of(pid, self.folder):
                found.append(pid)
        return sorted(found)


def wait_for(condition: Callable[[], Any], *, seconds: float = START_SECONDS) -> Any:
    deadline = time.monotonic() + seconds
    while not (held := condition()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return held


@dataclass
class Harm:
    """The faults that are injected into the service; a seed decides order and time."""

    service: Service
    picked: random.Random
    done: list[str] = field(default_factory=list)

    def plan(self, kills: int, *, postgres: bool) -> list[Callable[[], None]]:
        """Yield kills of web and worker in turn, with faults of the servers between."""
        harms: list[Callable[[], None]] = [
            self.kill_web if n % 2 == 0 else self.kill_worker for n in range(kills)
        ]
        others = [self.flush_redis, self.stop_redis, self.kill_redis]
        for harm in others + [self.kill_postgres] * 2 * postgres:
            harms.insert(self.picked.randrange(len(harms) + 1), harm)
        return harms

    def kill_web(self) -> None:
        self.kill("web", "gunicorn")

    def kill_worker(self) -> None:
        self.kill("worker", "celery:app\0worker")

    def kill_redis(self) -> None:
        self.kill("Redis", "redis-server")

    def kill_postgres(self) -> None:
        """Kill one of its processes, which closes all connections."""
        self.kill("PostgreSQL", "postgres")

    def kill(self, name: str, word: str) -> None:
        # One that was killed before is started again after half a minute at most.
        pids = wait_for(lambda: self.service.processes(word), seconds=60)
        pid = self.picked.choice(pids)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        self.note(f"kill -9 {name} ({pids.index(pid) + 1} of {len(pids)})")

    def flush_redis(self) -> None:
        # It may have been killed a moment ago.
        self.note(f"FLUSHALL: {wait_for(self.flushed, seconds=60)}")

    def flushed(self) -> str:
        path = self.service.folder / "run" / "redis.sock"
        with suppress(OSError), socket.socket(socket.AF_UNIX) as link:
            link.settimeout(5)
            link.connect(str(path))
            link.sendall(b"FLUSHALL\r\n")
            return link.recv(100).decode().strip()
        return ""

    def stop_redis(self) -> None:
        """Freeze it for some seconds: it accepts connections and answers nothing."""
        pids = self.service.processes("redis-server")
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        self.note("SIGSTOP Redis")
        time.sleep(2)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    def note(self, text: str) -> None:
        self.done.append(text)


class Replay:
    """Sends every task until it is answered; a fault is injected every few answers."""

    def __init__(self, service: Service, rows: list[dict[str, Any]]) -> None:
        self.service = service
        self.rows = rows
        self.answers: dict[int, dict[str, Any]] = {}
        self.refused: dict[int, Any] = {}

    def run(self, harms: list[Callable[[], None]], picked: random.Random) -> None:
        with ThreadPoolExecutor(SENDERS + 1) as pool:
            killer = pool.submit(self.harm, harms, picked)
            list(pool.map(self.send, range(len(self.rows))))
            killer.result()

    def harm(self, harms: list[Callable[[], None]], picked: random.Random) -> None:
        for number, harm in enumerate(harms):
            # The last ones meet tasks as well: none waits for the end.
            due = len(self.rows) * number // (len(harms) + 1)
            wait_for(lambda due=due: len(self.answers) + len(self.refused) >= due)
            time.sleep(picked.uniform(0, 0.15))
            harm()

    def send(self, number: int) -> None:
        row = self.rows[number]
        body = recorded_tasks.to_request(row, agent_id=AGENT) | {"project_id": PROJECT}
        headers = {"Idempotency_Key": recorded_tasks.idempotency_key(row, number + 1)}
        if number % LEFT_TO_WORKERS == 0:
            headers["Prefer"] = "respond-async"
        path = "/api/v1/complete-task"
        answer = self.service.insist("POST", path, body, **headers)
        if answer.status in (200, 202):
            self.answers[number] = answer.body
        else:
            self.refused[number] = answer


def tally(service: Service) -> dict[str, Any]:
    """Count what the project contains; a second replay must not change it."""
    playbook = service.insist(
        "GET", f"/api/v1/playbook?project_id={PROJECT}&limit=1"
    ).body
    memories = service.everything("memories?include_duplicates=true")
    return {
        "revision": playbook["revision"],
        "runs": sorted((run["id"], run["state"]) for run in service.everything("runs")),
        "memories": sorted((m["id"], m["version"]) for m in memories),
        "changes": sorted(c["id"] for c in service.everything("playbook/changes")),
        "deltas": sorted(
            (d["id"], d["status"]) for d in service.everything("proposals")
        ),
        "entries": sorted(
            (e["label"], e["helpful"], e["harmful"], e["neutral"])
            for e in service.everything("playbook")
        ),
    }


def unfinished_jobs(service: Service) -> list[str]:
    return [
        run["id"]
        for run in service.everything("runs?state=running")
        if run["state"] == "running"
    ]


def finished_by_hand(service: Service) -> list[str]:
    """Resume what a killed worker left: its job shows it until the lease runs out."""
    found = []
    jobs = list(service.everything("jobs?kind=ace"))
    shown = {j["args"]["run_id"] for j in jobs if j["state"] in ("running", "waiting")}
    for run_id in unfinished_jobs(service):
        if run_id not in shown:
            found.append(f"run {run_id} is unfinished and no job tells of it")
        service.insist("POST", f"/api/v1/runs/{run_id}/resume", {})
    return found


def faults_in(service: Service, replay: Replay, *, patience: float) -> list[str]:
    """Describe everything that is not as it must be."""
    found = [f"task {n} was refused: {a}" for n, a in replay.refused.items()]
    wait_for(lambda: not unfinished_jobs(service), seconds=patience)
    found += finished_by_hand(service)
    runs = {run["id"]: run for run in service.everything("runs")}
    memories = {m["id"] for m in service.everything("memories?include_duplicates=true")}
    for number, answer in replay.answers.items():
        run = runs.get(answer["run_id"])
        if run is None or run["memory_id"] != answer["memory_id"]:
            found.append(f"task {number} was answered and has no run: {answer}")
        if answer["memory_id"] not in memories:
            found.append(f"task {number} was answered and has no memory: {answer}")
    for run in runs.values():
        errors = [phase.get("error") for phase in run["phases"].values()]
        if run["state"] == "running" or (run["state"] == "failed" and not any(errors)):
            found.append(f"run {run['id']} is {run['state']} without a reason")
    if not len(replay.rows) == len(runs) == len(memories):
        found.append(
            f"{len(replay.rows)} tasks, {len(runs)} runs, {len(memories)} memories"
        )
    return found


def replayed_again(service: Service, rows: list[dict[str, Any]]) -> str:
    """The same file through `manage.py replay`, which sends the same keys."""
    file = service.folder / "tasks.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["replay", str(file), "--project", PROJECT, "--agent", AGENT]
    arguments += ["--url", f"http://127.0.0.1:{service.port}", "--key", service.key]
    done = subprocess.run(
        [sys.executable, str(data_folder.BASE_DIR / "manage.py"), *arguments],
        env=service.environment | {"DATA_DIR": str(service.folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout


@dataclass(frozen=True)
class Report:
    harms: list[str]
    seconds: float
    faults: list[str]
    summary: str


def torment(
    service: Service,
    *,
    kills: int,
    count: int,
    seed: int,
    postgres: bool = False,
    patience: float = PATIENCE,
) -> Report:
    """Replay, inject faults, check, replay again and compare.

    `patience` is how long a killed worker's job may take to be taken over.
    """
    began, picked = time.monotonic(), random.Random(seed)
    rows = made_up(count)
    service.insist("POST", "/api/v1/projects", {"name": PROJECT})
    harm = Harm(service, picked)
    replay = Replay(service, rows)
    replay.run(harm.plan(kills, postgres=postgres), picked)
    faults = faults_in(service, replay, patience=patience)
    before = tally(service)
    summary = replayed_again(service, rows)
    after = tally(service)
    faults += [
        f"the second replay changed {name}: {before[name]} → {after[name]}"
        for name in before
        if before[name] != after[name]
    ]
    return Report(harm.done, time.monotonic() - began, faults, summary)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--postgres", action="store_true", help="kill PostgreSQL twice as well"
    )
    options = parser.parse_args()
    with Service() as service:
        report = torment(
            service,
            kills=options.kills,
            count=options.tasks,
            seed=options.seed,
            postgres=options.postgres,
        )
    sys.stdout.write("\n".join([*report.harms, report.summary, *report.faults, ""]))
    sys.stdout.write(
        f"{len(report.harms)} harms in {report.seconds:.0f} s, "
        f"{len(report.faults)} faults\n"
    )
    return bool(report.faults)


if __name__ == "__main__":
    sys.exit(main())

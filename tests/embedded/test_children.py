from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from embedded import children
from embedded.children import ChildProcess
from embedded.supervisor import command_line

SLEEPER = [
    sys.executable,
    "-c",
    "import time; print('awake', flush=True); time.sleep(60)",
]
PARENT = """
import sys, time
from pathlib import Path
from embedded.children import ChildProcess
folder = Path(sys.argv[1])
child = ChildProcess("sleeper", ["sleep", "60"], folder / "log", folder)
child.start()
print(child.process.pid, flush=True)
time.sleep(60)
"""


def eventually(condition, *, seconds: float = 20.0):
    deadline = time.monotonic() + seconds
    while not (held := condition()) and time.monotonic() < deadline:
        threading.Event().wait(0.02)
    return held


@pytest.fixture
def child(tmp_path):
    child = ChildProcess("sleeper", SLEEPER, tmp_path / "sleeper.log", tmp_path)
    child.start()
    yield child
    child.stop(seconds=5)


def death_of(child: ChildProcess) -> str:
    os.kill(child.process.pid, signal.SIGKILL)
    child.process.wait()
    return child.restart_if_dead()


class TestChild:
    def test_it_writes_what_the_process_says_to_its_log(self, child):
        assert eventually(lambda: child.last_words() == "awake")

    def test_it_says_nothing_while_all_is_well(self, child):
        assert child.restart_if_dead() is None

    def test_it_reports_a_death_and_the_time_of_the_restart(self, child):
        assert death_of(child).startswith(
            "sleeper ended with status -9; it starts again in 0.5 s. See "
        )

    def test_it_restarts_after_the_delay(self, child):
        death_of(child)

        child.restart_at = time.monotonic()
        child.restart_if_dead()

        assert child.is_running

    def test_it_waits_longer_after_each_death(self, child):
        first = death_of(child)
        child.start()

        assert "in 0.5 s" in first
        assert "in 1 s" in death_of(child)

    def test_a_stable_run_resets_the_delay(self, child):
        child.deaths = 3
        child.started_at -= children.STABLE_SECONDS + 1

        child.restart_if_dead()

        assert child.deaths == 0

    def test_it_ends_a_process_that_ignores_the_signal(self, tmp_path):
        deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
        child = ChildProcess(
            "deaf", [sys.executable, "-c", deaf], tmp_path / "log", tmp_path
        )
        child.start()
        assert eventually(lambda: child.last_words() == "1")

        child.stop(seconds=0.1)

        assert child.process.returncode == -signal.SIGKILL

    def test_a_long_log_is_set_aside(self, child, monkeypatch):
        assert eventually(lambda: child.last_words() == "awake")
        monkeypatch.setattr(children, "MAX_LOG_BYTES", 3)

        child.restart_if_dead()

        assert child.log.read_text() == ""
        assert child.log.with_suffix(".log.1").read_text() == "awake\n"

    @pytest.mark.skipif(sys.platform != "linux", reason="the kernel's death signal")
    def test_it_ends_when_its_parent_is_killed(self, tmp_path):
        parent = subprocess.Popen(
            [sys.executable, "-c", PARENT, str(tmp_path)],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            text=True,
        )
        pid = int(parent.stdout.readline())

        parent.kill()
        parent.wait()
        parent.stdout.close()

        assert eventually(lambda: not command_line(pid))

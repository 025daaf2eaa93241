"""Start child processes that end with their parent, and restart children that die."""

from __future__ import annotations

import ctypes
import functools
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

MAX_LOG_BYTES = 50_000_000  # one older file of this size is kept beside the log
MAX_RESTART_DELAY = 30.0  # seconds between two starts of a child that keeps dying
STABLE_SECONDS = 60.0  # seconds of a run after which earlier deaths no longer count
START_SECONDS = 120.0  # until a server must answer
SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>

libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def die_with_parent(parent: int, signal_number: int) -> None:
    """Ask the kernel to kill this child when its parent dies.

    Run this function after the change of user, because that change would clear the request.
    """
    if libc:
        libc.prctl(SET_DEATH_SIGNAL, signal_number)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


class UserArguments(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


def user_arguments(user: pwd.struct_passwd | None) -> UserArguments:
    """Return the arguments of `subprocess` that run the child as another user."""
    if user is None:
        return {}
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@dataclass
class ChildProcess:
    name: str
    command: list[str]
    log: Path
    folder: Path
    environment: Mapping[str, str] | None = None
    user: pwd.struct_passwd | None = None
    stop_signal: int = signal.SIGTERM

    process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    deaths: int = field(default=0, init=False)
    started_at: float = field(default=0.0, init=False)
    restart_at: float | None = field(default=None, init=False)

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # The child has its own process group. A Ctrl-C then reaches only the
                # parent, and the parent stops the children in order.
                process_group=0,
                preexec_fn=functools.partial(
                    die_with_parent, os.getpid(), self.stop_signal
                ),
                **user_arguments(self.user),
            )
        self.started_at = time.monotonic()
        self.restart_at = None

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def restart_if_dead(self) -> str | None:
        """Restart a dead child; the delay is longer each time the child dies.

        Return a message if this call finds that the child has died, else None.
        """
        self.rotate_log()
        now = time.monotonic()
        if self.is_running:
            if now - self.started_at > STABLE_SECONDS:
                self.deaths = 0
            return None
        if self.restart_at is None:
            return self.plan_restart(now)
        if now >= self.restart_at:
            self.start()
        return None

    def plan_restart(self, now: float) -> str:
        assert self.process
        self.kill_group()
        wait = min(MAX_RESTART_DELAY, 0.5 * 2**self.deaths)
        self.deaths += 1
        self.restart_at = now + wait
        return (
            f"{self.name} ended with status {self.process.returncode}; "
            f"it starts again in {wait:g} s. See {self.log}"
        )

    def stop(self, *, seconds: float) -> None:
        if self.process is None:
            return
        if self.is_running:
            self.process.send_signal(self.stop_signal)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        self.kill_group()
        self.process.wait()

    def kill_group(self) -> None:
        """Kill the processes that a dead group leader leaves behind in its group."""
        assert self.process
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def rotate_log(self) -> None:
        # The child opens the log for appending, so the file can be truncated while the
        # child runs.
        if self.log.stat().st_size > MAX_LOG_BYTES:
            shutil.copyfile(self.log, self.log.with_suffix(".log.1"))
            os.truncate(self.log, 0)

    def last_words(self, lines: int = 8) -> str:
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - 4_000))
            return "\n".join(log.read().decode(errors="replace").splitlines()[-lines:])

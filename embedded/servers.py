"""PostgreSQL and Redis for one data folder, shared by every command that uses it.

A command holds a shared lock for as long as it needs the servers. One keeper process
(`embedded.supervisor`) owns both of them and stops them when no command is left, so
that a killed command leaves nothing running. No Django and no third-party import here:
this runs before the settings are read.
"""

from __future__ import annotations

import atexit
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from embedded.data_folder import (
    BASE_DIR,
    DataFolder,
    EmbeddedError,
    create,
    refuse_unreachable,
)
from embedded.file_lock import FileLock

STOP_SECONDS = 60.0
READY = "ready"


class ServerUse:
    """One command's use of a folder's servers, from `begin` to `end`.

    Three locks make it safe against every kill: `users` is shared by the commands and
    taken by whoever stops the servers, `keeper` is held by the keeper while it lives,
    `starting` lets one command at a time look for a keeper and start one."""

    def __init__(self, home: DataFolder, *, for_tests: bool = False) -> None:
        self.home = home
        self.for_tests = for_tests
        self.users = FileLock(home.folder / "users.lock")
        self.process: int | None = None

    def begin(self) -> None:
        refuse_unreachable(self.home)
        self.users.share()
        self.process = os.getpid()
        self.revive()

    def revive(self) -> bool:
        """Start a keeper where none lives; tell whether one was started."""
        with self.starting():
            if self.keeper_lives():
                return False
            start_supervisor(self.home, for_tests=self.for_tests)
            return True

    def keeper_lives(self) -> bool:
        lock = FileLock(supervisor_lock(self.home))
        try:
            return not lock.take_at_once()
        finally:
            lock.drop()

    def end(self) -> None:
        """Leave; the last one stops the servers and waits for it."""
        # A forked child shares its parent's lock and must not give it up.
        if os.getpid() != self.process:
            return
        self.process = None
        if self.users.take_at_once() and self.keeper_lives():
            stop_supervisor(self.home)
        self.users.drop()

    @contextmanager
    def starting(self) -> Iterator[None]:
        lock = FileLock(self.home.folder / "starting.lock")
        lock.take()
        try:
            yield
        finally:
            lock.drop()


def supervisor_lock(home: DataFolder) -> Path:
    return home.folder / "keeper.lock"


def start_supervisor(home: DataFolder, *, for_tests: bool) -> None:
    """Start the keeper in a session of its own and wait until both servers answer."""
    command = [sys.executable, "-m", "embedded.supervisor", str(home.folder)]
    log_path = home.logs / "keeper.log"
    with log_path.open("ab") as log:
        keeper = subprocess.Popen(
            [*command, "--for-tests"] if for_tests else command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=BASE_DIR,
            start_new_session=True,
            text=True,
        )
    with keeper:
        assert keeper.stdout
        try:
            said = keeper.stdout.readline().strip()
            if said != READY:
                said = "\n".join([said, keeper.stdout.read()]).strip()
                said = said or log_path.read_text()[-1000:]
                raise EmbeddedError(f"The embedded servers did not start. {said}")
        except BaseException:
            # It is waited for here, and would itself wait for this process to leave.
            keeper.terminate()
            raise
        # Popen would otherwise wait for a process that is meant to stay.
        keeper.returncode = 0


def stop_supervisor(home: DataFolder) -> None:
    lock = FileLock(supervisor_lock(home))
    with suppress(ProcessLookupError, ValueError):
        os.kill(int(supervisor_lock(home).read_text()), signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while not lock.take_at_once() and time.monotonic() < deadline:
        time.sleep(0.02)
    lock.drop()


def use_servers(folder: Path, *, for_tests: bool = False) -> ServerUse:
    """Have the servers of a folder until this process ends."""
    servers = ServerUse(create(folder), for_tests=for_tests)
    servers.begin()
    atexit.register(servers.end)
    return servers


def is_set(name: str) -> bool:
    """Whether the environment holds a setting, as a value or as a file's name."""
    return bool(os.environ.get(name) or os.environ.get(f"{name}_FILE"))


def ensure_servers(folder: Path) -> ServerUse | None:
    """Fill in what the environment leaves open: servers, data folder and secret key."""
    create(folder)
    os.environ["DATA_DIR"] = str(folder)
    if not is_set("SECRET_KEY"):
        os.environ["SECRET_KEY"] = read_or_make_secret_key(folder / "secret_key")
    if is_set("DATABASE_URL") and is_set("REDIS_URL"):
        return None
    servers = use_servers(folder)
    if not is_set("DATABASE_URL"):
        os.environ["DATABASE_URL"] = servers.home.database_url
    if not is_set("REDIS_URL"):
        os.environ["REDIS_URL"] = servers.home.redis_url
    return servers


def read_or_make_secret_key(path: Path) -> str:
    """The key of this data folder, made once and readable by its owner only."""
    if not path.exists():
        draft = path.with_suffix(f".{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(50))
        # A link never replaces: of two first starts, both read the same key.
        with suppress(FileExistsError):
            path.hardlink_to(draft)
        draft.unlink()
    return path.read_text()

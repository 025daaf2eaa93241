"""PostgreSQL and Redis for one data folder, shared by every command that uses it.

A command holds a shared lock for as long as it needs the servers. One supervisor process
(`embedded.supervisor`) owns both servers and stops them when no command is left, so that
a killed command leaves nothing running. This module imports neither Django nor a
third-party package: manage.py runs it before the settings are read.
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

from embedded import data_folder
from embedded.data_folder import BASE_DIR, DataFolder, EmbeddedError
from embedded.file_lock import FileLock

STOP_SECONDS = 60.0
READY = "ready"


class ServerUse:
    """One command's use of the servers of a data folder, from `begin` to `end`.

    Three locks make this class safe when any process is killed. Commands share the lock
    `users`, and the process that stops the servers holds `users` exclusively. The
    supervisor holds `keeper` while it runs. A command holds `starting` while it looks for a
    supervisor and starts one.
    """

    def __init__(self, data: DataFolder, *, for_tests: bool = False) -> None:
        self.data = data
        self.for_tests = for_tests
        self.users = FileLock(data.path / "users.lock")
        self.process: int | None = None

    def begin(self) -> None:
        data_folder.refuse_unreachable(self.data)
        self.users.acquire_shared()
        self.process = os.getpid()
        self.ensure_supervisor()

    def ensure_supervisor(self) -> bool:
        """Start a supervisor if none runs; return whether one was started."""
        with self.hold_start_lock():
            if self.has_supervisor():
                return False
            start_supervisor(self.data, for_tests=self.for_tests)
            return True

    def has_supervisor(self) -> bool:
        lock = FileLock(supervisor_lock(self.data))
        try:
            return not lock.try_acquire()
        finally:
            lock.release()

    def end(self) -> None:
        """End the use; the last command stops the servers and waits for their end."""
        # A forked child shares its parent's lock and must not release it.
        if os.getpid() != self.process:
            return
        self.process = None
        if self.users.try_acquire() and self.has_supervisor():
            stop_supervisor(self.data)
        self.users.release()

    @contextmanager
    def hold_start_lock(self) -> Iterator[None]:
        lock = FileLock(self.data.path / "starting.lock")
        lock.acquire()
        try:
            yield
        finally:
            lock.release()


def supervisor_lock(data: DataFolder) -> Path:
    # The name is the one that the supervisor of an earlier release locks.
    return data.path / "keeper.lock"


def start_supervisor(data: DataFolder, *, for_tests: bool) -> None:
    """Start the supervisor in its own session and wait until both servers answer."""
    command = [sys.executable, "-m", "embedded.supervisor", str(data.path)]
    log_path = data.logs / "keeper.log"
    with log_path.open("ab") as log:
        supervisor = subprocess.Popen(
            [*command, "--for-tests"] if for_tests else command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=BASE_DIR,
            start_new_session=True,
            text=True,
        )
    with supervisor:
        assert supervisor.stdout
        try:
            reply = supervisor.stdout.readline().strip()
            if reply != READY:
                reply = "\n".join([reply, supervisor.stdout.read()]).strip()
                reply = reply or log_path.read_text()[-1000:]
                raise EmbeddedError(f"The embedded servers did not start. {reply}")
        except BaseException:
            # Leaving the block waits for the supervisor, which waits for this process.
            supervisor.terminate()
            raise
        # Otherwise Popen would wait for a process that is meant to keep running.
        supervisor.returncode = 0


def stop_supervisor(data: DataFolder) -> None:
    lock = FileLock(supervisor_lock(data))
    with suppress(ProcessLookupError, ValueError):
        os.kill(int(supervisor_lock(data).read_text()), signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while not lock.try_acquire() and time.monotonic() < deadline:
        time.sleep(0.02)
    lock.release()


def use(path: Path, *, for_tests: bool = False) -> ServerUse:
    """Use the servers of a data folder until this process ends."""
    server_use = ServerUse(data_folder.create(path), for_tests=for_tests)
    server_use.begin()
    atexit.register(server_use.end)
    return server_use


def is_set(name: str) -> bool:
    """Return whether the environment sets a name, as a value or as the path of a file."""
    return bool(os.environ.get(name) or os.environ.get(f"{name}_FILE"))


def ensure(path: Path) -> ServerUse | None:
    """Set what the environment leaves unset: servers, data folder and secret key."""
    data_folder.create(path)
    os.environ["DATA_DIR"] = str(path)
    if not is_set("SECRET_KEY"):
        os.environ["SECRET_KEY"] = read_or_make_secret_key(path / "secret_key")
    refuse_blank_secret_key(path / "secret_key")
    if is_set("DATABASE_URL") and is_set("REDIS_URL"):
        return None
    server_use = use(path)
    if not is_set("DATABASE_URL"):
        os.environ["DATABASE_URL"] = server_use.data.database_url
    if not is_set("REDIS_URL"):
        os.environ["REDIS_URL"] = server_use.data.redis_url
    return server_use


def read_or_make_secret_key(path: Path) -> str:
    """Return the data folder's key, which is made once; only its owner can read the key."""
    if not path.exists():
        draft = path.with_suffix(f".{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(50))
        # Linking a file never replaces another file, so two first starts read the same key.
        with suppress(FileExistsError):
            path.hardlink_to(draft)
        draft.unlink()
    return path.read_text()


def refuse_blank_secret_key(made: Path) -> None:
    """Refuse a key of white space alone, which would let anybody sign sessions."""
    file = os.environ.get("SECRET_KEY_FILE")
    try:
        value = Path(file).read_text() if file else os.environ["SECRET_KEY"]
    except (OSError, UnicodeDecodeError) as error:
        raise EmbeddedError(f"SECRET_KEY_FILE cannot be read: {error}") from error
    if not value.strip():
        raise EmbeddedError(
            "SECRET_KEY is empty. Set SECRET_KEY or SECRET_KEY_FILE to a long random text, "
            f"or set neither and remove {made} if it is empty: a new one is made there."
        )

"""PostgreSQL and Redis for one data folder, shared by every command that uses it.

A command holds a shared lock for as long as it needs the servers. One keeper process
(`memory_project.keeper`) owns both of them and stops them when no command is left, so
that a killed command leaves nothing running. No Django and no third-party import here:
this runs before the settings are read.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import pwd
import secrets
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

BASE_DIR = Path(__file__).resolve().parent.parent
SYSTEM_FOLDER = Path("/var/lib/agent-memory")
SYSTEM_USER = "nobody"  # exists everywhere; PostgreSQL refuses to run as root
SOCKET_LIMIT = 107  # bytes of a Unix socket's path, from Linux's sockaddr_un
SOCKET_NAME = ".s.PGSQL.5432"
START_SECONDS = 120.0
STOP_SECONDS = 60.0
READY = "ready"


class EmbeddedError(Exception):
    """The embedded servers cannot run; the message says the mend."""


@dataclass(frozen=True)
class Home:
    """The places of one data folder."""

    folder: Path

    @property
    def postgres(self) -> Path:
        return self.folder / "postgres"

    @property
    def redis(self) -> Path:
        return self.folder / "redis"

    @property
    def programs(self) -> Path:
        return self.folder / "programs"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def backups(self) -> Path:
        return self.folder / "backups"

    @property
    def sockets(self) -> Path:
        """`run`, or a short folder of our own where its path is too long for a socket."""
        run = self.folder / "run"
        if len(os.fsencode(run / SOCKET_NAME)) <= SOCKET_LIMIT:
            return run
        return Path(tempfile.gettempdir()) / f"agent-memory-{digest(self.folder)}"

    @property
    def redis_socket(self) -> Path:
        return self.sockets / "redis.sock"

    @property
    def database_url(self) -> str:
        return f"postgresql://memory@/memory?host={quote(str(self.sockets), safe='/')}"

    @property
    def redis_url(self) -> str:
        return f"unix://{self.redis_socket}?db=0"

    @property
    def servant(self) -> pwd.struct_passwd | None:
        """Whom root runs the servers as: the data's owner, so that it keeps its owner."""
        if os.geteuid() != 0:
            return None
        owner = self.postgres.stat().st_uid if self.postgres.exists() else 0
        return pwd.getpwuid(owner) if owner else pwd.getpwnam(SYSTEM_USER)


def digest(folder: Path) -> str:
    return hashlib.sha256(os.fsencode(folder)).hexdigest()[:8]


def data_folder(named: str | None = None) -> Path:
    """The folder named, that of DATA_DIR, or one that belongs to this checkout alone.

    Root's is under /var/lib: an unprivileged server can rarely enter a checkout."""
    named = named or os.environ.get("DATA_DIR")
    if named:
        return Path(named).absolute()
    if os.geteuid() == 0:
        return SYSTEM_FOLDER / f"{BASE_DIR.name[:20]}-{digest(BASE_DIR)}"
    return BASE_DIR / "var"


def make_home(folder: Path) -> Home:
    """Make the data folder. Nothing that was there before changes its permissions."""
    home = Home(folder)
    mode = 0o711 if home.servant else 0o700
    for missing in reversed([p for p in (folder, *folder.parents) if not p.exists()]):
        make_folder(missing, mode=mode)
    for private in (home.logs, home.backups):
        make_folder(private, mode=0o700)
    return home


def make_folder(
    path: Path, *, mode: int, owner: pwd.struct_passwd | None = None
) -> None:
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
        if owner:
            os.chown(path, owner.pw_uid, owner.pw_gid)
        path.chmod(mode)


def refuse_unreachable(home: Home) -> None:
    if home.folder.stat().st_uid != os.geteuid() and os.geteuid() != 0:
        raise EmbeddedError(
            f"{home.folder} belongs to another user. Run as that user, or name a "
            "folder of your own with --data or DATA_DIR."
        )
    servant = home.servant
    if servant and not can_reach(home.postgres, servant):
        raise EmbeddedError(
            f"{home.folder} cannot be entered by the user {servant.pw_name!r}, whom "
            "PostgreSQL runs as when root starts it. Name a folder under "
            f"{SYSTEM_FOLDER} with --data or DATA_DIR, or start as another user."
        )


def can_reach(path: Path, user: pwd.struct_passwd) -> bool:
    return all(can_enter(parent, user) for parent in path.resolve().parents)


def can_enter(folder: Path, user: pwd.struct_passwd) -> bool:
    status = folder.stat()
    if status.st_uid == user.pw_uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == user.pw_gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)


class Lock:
    """An advisory file lock, which the kernel drops when its process ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def share(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_SH)

    def take(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def take_at_once(self) -> bool:
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def drop(self) -> None:
        os.close(self.fd)


class Use:
    """One command's use of a folder's servers, from `begin` to `end`.

    Three locks make it safe against every kill: `users` is shared by the commands and
    taken by whoever stops the servers, `keeper` is held by the keeper while it lives,
    `starting` lets one command at a time look for a keeper and start one."""

    def __init__(self, home: Home, *, for_tests: bool = False) -> None:
        self.home = home
        self.for_tests = for_tests
        self.users = Lock(home.folder / "users.lock")
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
            start_keeper(self.home, for_tests=self.for_tests)
            return True

    def keeper_lives(self) -> bool:
        lock = Lock(keeper_lock(self.home))
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
            stop_keeper(self.home)
        self.users.drop()

    @contextmanager
    def starting(self) -> Iterator[None]:
        lock = Lock(self.home.folder / "starting.lock")
        lock.take()
        try:
            yield
        finally:
            lock.drop()


def keeper_lock(home: Home) -> Path:
    return home.folder / "keeper.lock"


def start_keeper(home: Home, *, for_tests: bool) -> None:
    """Start the keeper in a session of its own and wait until both servers answer."""
    command = [sys.executable, "-m", "memory_project.keeper", str(home.folder)]
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


def stop_keeper(home: Home) -> None:
    lock = Lock(keeper_lock(home))
    with suppress(ProcessLookupError, ValueError):
        os.kill(int(keeper_lock(home).read_text()), signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while not lock.take_at_once() and time.monotonic() < deadline:
        time.sleep(0.02)
    lock.drop()


def use(folder: Path, *, for_tests: bool = False) -> Use:
    """Have the servers of a folder until this process ends."""
    servers = Use(make_home(folder), for_tests=for_tests)
    servers.begin()
    atexit.register(servers.end)
    return servers


def is_given(name: str) -> bool:
    """Whether the environment holds a setting, as a value or as a file's name."""
    return bool(os.environ.get(name) or os.environ.get(f"{name}_FILE"))


def ensure(folder: Path) -> Use | None:
    """Fill in what the environment leaves open: servers, data folder and secret key."""
    make_home(folder)
    os.environ["DATA_DIR"] = str(folder)
    if not is_given("SECRET_KEY"):
        os.environ["SECRET_KEY"] = secret_key(folder / "secret_key")
    if is_given("DATABASE_URL") and is_given("REDIS_URL"):
        return None
    servers = use(folder)
    if not is_given("DATABASE_URL"):
        os.environ["DATABASE_URL"] = servers.home.database_url
    if not is_given("REDIS_URL"):
        os.environ["REDIS_URL"] = servers.home.redis_url
    return servers


def secret_key(path: Path) -> str:
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

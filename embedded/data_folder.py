"""TODO docstring."""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

BASE_DIR = Path(__file__).resolve().parent.parent


SYSTEM_FOLDER = Path("/var/lib/agent-memory")


SYSTEM_USER = "nobody"  # exists everywhere; PostgreSQL refuses to run as root


SOCKET_LIMIT = 107  # bytes of a Unix socket's path, from Linux's sockaddr_un


SOCKET_NAME = ".s.PGSQL.5432"


class EmbeddedError(Exception):
    """The embedded servers cannot run; the message says the mend."""


@dataclass(frozen=True)
class DataFolder:
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
        return Path(tempfile.gettempdir()) / f"agent-memory-{short_hash(self.folder)}"

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


def short_hash(folder: Path) -> str:
    return hashlib.sha256(os.fsencode(folder)).hexdigest()[:8]


def locate(named: str | None = None) -> Path:
    """The folder named, that of DATA_DIR, or one that belongs to this checkout alone.

    Root's is under /var/lib: an unprivileged server can rarely enter a checkout."""
    named = named or os.environ.get("DATA_DIR")
    if named:
        return Path(named).absolute()
    if os.geteuid() == 0:
        return SYSTEM_FOLDER / f"{BASE_DIR.name[:20]}-{short_hash(BASE_DIR)}"
    return BASE_DIR / "var"


def create(folder: Path) -> DataFolder:
    """Make the data folder. Nothing that was there before changes its permissions."""
    home = DataFolder(folder)
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


def refuse_unreachable(home: DataFolder) -> None:
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

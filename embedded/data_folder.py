"""The data folder of one service: its paths, its permissions and its owner.

This module imports neither Django nor a third-party package, because manage.py needs it
before the settings are read.
"""

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
SYSTEM_USER = "nobody"  # this user exists everywhere; PostgreSQL refuses to run as root
SOCKET_LIMIT = 107  # bytes of a Unix socket's path, from Linux's sockaddr_un
SOCKET_NAME = ".s.PGSQL.5432"


class EmbeddedError(Exception):
    """The embedded servers cannot run; the message says how to fix it."""


@dataclass(frozen=True)
class DataFolder:
    """The paths inside one data folder, and the addresses of its servers."""

    path: Path

    @property
    def postgres(self) -> Path:
        return self.path / "postgres"

    @property
    def redis(self) -> Path:
        return self.path / "redis"

    @property
    def programs(self) -> Path:
        return self.path / "programs"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def backups(self) -> Path:
        return self.path / "backups"

    @property
    def sockets(self) -> Path:
        """`run`, or a folder in /tmp if the path of `run` is too long for a socket."""
        run = self.path / "run"
        if len(os.fsencode(run / SOCKET_NAME)) <= SOCKET_LIMIT:
            return run
        return Path(tempfile.gettempdir()) / f"agent-memory-{short_hash(self.path)}"

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
    def server_user(self) -> pwd.struct_passwd | None:
        """The user as which root runs the servers: the owner of the data, if there is data.

        None if this process is not root. The servers then run as the user of this process.
        """
        if os.geteuid() != 0:
            return None
        owner = self.postgres.stat().st_uid if self.postgres.exists() else 0
        return pwd.getpwuid(owner) if owner else pwd.getpwnam(SYSTEM_USER)


def short_hash(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:8]


def locate(option: str | None = None) -> Path:
    """Return the path of the data folder: `--data`, or else DATA_DIR, or else the default.

    No other checkout uses the same default. For root, the default is under /var/lib,
    because an unprivileged server can rarely enter a checkout.
    """
    path = option or os.environ.get("DATA_DIR")
    if path:
        return Path(path).absolute()
    if os.geteuid() == 0:
        return SYSTEM_FOLDER / f"{BASE_DIR.name[:20]}-{short_hash(BASE_DIR)}"
    return BASE_DIR / "var"


def create(path: Path) -> DataFolder:
    """Create the data folder; folders that exist keep their permissions."""
    data = DataFolder(path)
    mode = 0o711 if data.server_user else 0o700
    for missing in reversed([p for p in (path, *path.parents) if not p.exists()]):
        make_folder(missing, mode=mode)
    for private in (data.logs, data.backups):
        make_folder(private, mode=0o700)
    return data


def make_folder(
    path: Path, *, mode: int, owner: pwd.struct_passwd | None = None
) -> None:
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
        if owner:
            os.chown(path, owner.pw_uid, owner.pw_gid)
        path.chmod(mode)


def refuse_unreachable(data: DataFolder) -> None:
    if data.path.stat().st_uid != os.geteuid() and os.geteuid() != 0:
        raise EmbeddedError(
            f"{data.path} belongs to another user. Run as that user, or name a "
            "folder of your own with --data or DATA_DIR."
        )
    user = data.server_user
    if user and not can_reach(data.postgres, user):
        raise EmbeddedError(
            f"{data.path} cannot be entered by the user {user.pw_name!r}, as whom "
            "PostgreSQL runs when root starts it. Name a folder under "
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

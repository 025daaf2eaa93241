"""The process that owns PostgreSQL and Redis of a data folder while commands use them.

Run it as `python -m embedded.supervisor FOLDER`. The supervisor prints `ready` when both
servers answer. It restarts a server that dies, and it stops both servers when no command is
left.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from embedded import postgres, redis_server
from embedded.children import ChildProcess
from embedded.data_folder import DataFolder, EmbeddedError, make_folder
from embedded.file_lock import FileLock
from embedded.servers import READY, supervisor_lock

LOOK_SECONDS = 0.2
END_SECONDS = 20.0


class Supervisor:
    def __init__(self, data: DataFolder, *, for_tests: bool) -> None:
        self.data = data
        self.for_tests = for_tests
        self.children: list[ChildProcess] = []
        self.must_end = False

    def start(self) -> None:
        create_sockets_folder(self.data)
        end_stale(self.data.postgres / "postmaster.pid", str(self.data.postgres))
        end_stale(self.data.redis / "redis.pid", str(self.data.redis_socket))
        install = postgres.install_programs(self.data)
        self.add(redis_server.server(self.data))
        postgres.create_cluster(self.data, install, for_tests=self.for_tests)
        database = postgres.server(self.data, install, for_tests=self.for_tests)
        self.add(database)
        postgres.wait_until_ready(self.data, database)
        postgres.create_database(self.data)
        redis_server.wait_until_ready(self.data, self.children[0])

    def add(self, child: ChildProcess) -> None:
        self.children.append(child)
        child.start()

    def watch(self, users: FileLock) -> None:
        """Restart servers that die, until nobody uses the servers or a signal asks to end."""
        while not self.must_end and not users.try_acquire():
            for child in self.children:
                if message := child.restart_if_dead():
                    log(message)
            time.sleep(LOOK_SECONDS)

    def end(self) -> None:
        for child in self.children:
            child.stop(seconds=END_SECONDS)

    def ask_to_end(self, *_: object) -> None:
        self.must_end = True


def create_sockets_folder(data: DataFolder) -> None:
    make_folder(data.sockets, mode=0o700, owner=data.server_user)
    owner = data.server_user.pw_uid if data.server_user else os.geteuid()
    status = data.sockets.lstat()
    # Somebody else may have created a folder of this name in /tmp.
    if status.st_uid != owner or data.sockets.is_symlink():
        raise EmbeddedError(
            f"{data.sockets} belongs to another user: remove it, or name a shorter "
            "data folder with --data or DATA_DIR."
        )


def end_stale(pid_file: Path, mark: str) -> None:
    """End a server that outlived its supervisor, and remove its pid file.

    The process id may belong to another process by now, and that process must not be
    killed.
    """
    if not pid_file.exists() or not Path("/proc/self").exists():
        return
    pid = (pid_file.read_text().split() or [""])[0]
    is_ours = pid.isdigit() and mark in command_line(int(pid))
    if is_ours:
        end_process(int(pid))
    pid_file.unlink(missing_ok=True)


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def end_process(pid: int) -> None:
    deadline = time.monotonic() + END_SECONDS
    with suppress(ProcessLookupError):
        while command_line(pid):
            is_late = time.monotonic() > deadline
            os.kill(pid, signal.SIGKILL if is_late else signal.SIGINT)
            time.sleep(0.1)


def log(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text}\n")
    sys.stderr.flush()


def reply(text: str) -> None:
    """Answer the command that waits for this process; the command may have ended by now."""
    with suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), f"{text}\n".encode())
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stdout.fileno())
    os.close(silence)


def run(data: DataFolder, *, for_tests: bool) -> int:
    lock = FileLock(supervisor_lock(data))
    if not lock.try_acquire():
        reply("The servers of this folder are being stopped: try again.")
        return 1
    supervisor_lock(data).write_text(str(os.getpid()))
    supervisor = Supervisor(data, for_tests=for_tests)
    signal.signal(signal.SIGTERM, supervisor.ask_to_end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        supervisor.start()
        reply(READY)
        supervisor.watch(FileLock(data.path / "users.lock"))
    except EmbeddedError as error:
        reply(str(error))
        return 1
    finally:
        supervisor.end()
        if for_tests:
            shutil.rmtree(data.path, ignore_errors=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--for-tests", action="store_true")
    options = parser.parse_args()
    return run(DataFolder(options.folder), for_tests=options.for_tests)


if __name__ == "__main__":
    sys.exit(main())

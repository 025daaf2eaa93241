"""The process that owns a data folder's PostgreSQL and Redis while commands use them.

Run as `python -m embedded.supervisor FOLDER`. It says `ready` on its output when both
answer, starts again what dies, and ends both when no command is left.
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
    def __init__(self, home: DataFolder, *, for_tests: bool) -> None:
        self.home = home
        self.for_tests = for_tests
        self.children: list[ChildProcess] = []
        self.must_end = False

    def start(self) -> None:
        create_sockets_folder(self.home)
        end_stale(self.home.postgres / "postmaster.pid", str(self.home.postgres))
        end_stale(self.home.redis / "redis.pid", str(self.home.redis_socket))
        install = postgres.install_programs(self.home)
        self.add(redis_server.server(self.home))
        postgres.create_cluster(self.home, install, for_tests=self.for_tests)
        database = postgres.server(self.home, install, for_tests=self.for_tests)
        self.add(database)
        postgres.wait_until_ready(self.home, database)
        postgres.create_database(self.home)
        redis_server.wait_until_ready(self.home, self.children[0])

    def add(self, child: ChildProcess) -> None:
        self.children.append(child)
        child.start()

    def watch(self, users: FileLock) -> None:
        """Tend both servers until nobody uses them or a signal asks for the end."""
        while not self.must_end and not users.take_at_once():
            for child in self.children:
                if said := child.tend():
                    log(said)
            time.sleep(LOOK_SECONDS)

    def end(self) -> None:
        for child in self.children:
            child.stop(seconds=END_SECONDS)

    def ask_to_end(self, *_: object) -> None:
        self.must_end = True


def create_sockets_folder(home: DataFolder) -> None:
    make_folder(home.sockets, mode=0o700, owner=home.servant)
    mine = home.servant.pw_uid if home.servant else os.geteuid()
    status = home.sockets.lstat()
    # A folder in /tmp could have been put there by somebody else.
    if status.st_uid != mine or home.sockets.is_symlink():
        raise EmbeddedError(
            f"{home.sockets} belongs to another user: remove it, or name a shorter "
            "data folder with --data or DATA_DIR."
        )


def end_stale(pid_file: Path, mark: str) -> None:
    """End a server that outlived its keeper, and forget one that is gone.

    Its number may stand for another process by now, which must not be harmed."""
    if not pid_file.exists() or not Path("/proc/self").exists():
        return
    first = (pid_file.read_text().split() or [""])[0]
    is_ours = first.isdigit() and mark in command_line(int(first))
    if is_ours:
        end_process(int(first))
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
    """Answer the command that waits. It may be gone by now; that is its affair."""
    with suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), f"{text}\n".encode())
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stdout.fileno())
    os.close(silence)


def run(home: DataFolder, *, for_tests: bool) -> int:
    alive = FileLock(supervisor_lock(home))
    if not alive.take_at_once():
        reply("The servers of this folder are just being stopped: try again.")
        return 1
    supervisor_lock(home).write_text(str(os.getpid()))
    keeper = Supervisor(home, for_tests=for_tests)
    signal.signal(signal.SIGTERM, keeper.ask_to_end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        keeper.start()
        reply(READY)
        keeper.watch(FileLock(home.folder / "users.lock"))
    except EmbeddedError as error:
        reply(str(error))
        return 1
    finally:
        keeper.end()
        if for_tests:
            shutil.rmtree(home.folder, ignore_errors=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--for-tests", action="store_true")
    options = parser.parse_args()
    return run(DataFolder(options.folder), for_tests=options.for_tests)


if __name__ == "__main__":
    sys.exit(main())

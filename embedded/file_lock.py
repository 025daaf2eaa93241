"""An advisory lock on a file, shared or exclusive, between processes."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class FileLock:
    """A lock that the kernel releases when the lock's process ends for any reason."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def acquire_shared(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_SH)

    def acquire(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def try_acquire(self) -> bool:
        """Try to acquire the lock without waiting; return whether the lock is acquired."""
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        os.close(self.fd)


def is_held(path: Path) -> bool:
    """Return whether a process holds the exclusive lock on a file that exists."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False

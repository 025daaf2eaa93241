"""TODO docstring."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class FileLock:
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

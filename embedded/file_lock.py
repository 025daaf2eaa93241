"""An advisory lock on a file, shared or exclusive, between processes."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class FileLock:
    """The kernel releases it when its process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def acquire_shared(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_SH)

    def acquire(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def try_acquire(self) -> bool:
        """Acquire it without waiting; return whether that succeeded."""
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        os.close(self.fd)

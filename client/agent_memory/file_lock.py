"""A lock that is a file: one process at a time. Standard library only: a hook imports it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK_SECONDS = 120.0  # a lock that is older was left by a process that is gone
LOOK_SECONDS = 0.2


@contextmanager
def hold(file: Path) -> Iterator[None]:
    """Hold the lock for a block; wait while another process holds it."""
    while True:
        try:
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except FileExistsError:
            _remove_old(file)
            time.sleep(LOOK_SECONDS)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def _remove_old(file: Path) -> None:
    try:
        age = time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return
    if age > LOCK_SECONDS:
        file.unlink(missing_ok=True)

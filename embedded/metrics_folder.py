"""Where the processes of one start count what `/metrics` tells. No Django here."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
LINK_NAME = "counts"  # in the folder of the data


def create() -> Path:
    """A new folder, in memory where there is one.

    The counters are mapped files. On a full disk a write into one ends its process.
    """
    place = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    return Path(tempfile.mkdtemp(prefix="agent-memory-counts-", dir=place))


def create_for(data: Path) -> Path:
    """One that ends with this process, or before the next on the same data starts."""
    remove_for(data)
    folder = create()
    (data / LINK_NAME).symlink_to(folder)
    atexit.register(remove_for, data)
    return folder


def remove_for(data: Path) -> None:
    """Also what a process that was killed has left."""
    link = data / LINK_NAME
    if link.is_symlink():
        shutil.rmtree(link.readlink(), ignore_errors=True)
        link.unlink()

"""Where the processes of one start count what `/metrics` tells. No Django here."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
LINK = "counts"  # in the folder of the data


def made() -> Path:
    """A new folder, in memory where there is one.

    The counters are mapped files. On a full disk a write into one ends its process.
    """
    place = MEMORY if MEMORY.is_dir() else None
    return Path(tempfile.mkdtemp(prefix="agent-memory-counts-", dir=place))


def made_for(data: Path) -> Path:
    """One that ends with this process, or before the next on the same data starts."""
    remove_for(data)
    folder = made()
    (data / LINK).symlink_to(folder)
    atexit.register(remove_for, data)
    return folder


def remove_for(data: Path) -> None:
    """Also what a process that was killed has left."""
    link = data / LINK
    if link.is_symlink():
        shutil.rmtree(link.readlink(), ignore_errors=True)
        link.unlink()

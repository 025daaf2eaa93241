"""The folder in which all processes of one start keep the counters of `/metrics`.

This module imports no Django, because gunicorn.conf.py and `up` need it before Django is
loaded.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
LINK_NAME = "counts"  # in the data folder; it points to the folder of the counters


def create() -> Path:
    """Create the folder, in shared memory if there is any.

    The counters are memory-mapped files. If the disk is full, a write into such a file
    kills the writing process.
    """
    parent = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    return Path(tempfile.mkdtemp(prefix="agent-memory-counts-", dir=parent))


def create_for(data: Path) -> Path:
    """Create a folder that is removed when this process ends.

    If this process is killed, the next start on the same data removes it.
    """
    remove_for(data)
    folder = create()
    (data / LINK_NAME).symlink_to(folder)
    atexit.register(remove_for, data)
    return folder


def remove_for(data: Path) -> None:
    """Remove the folder that this process, or a killed one, created for the data."""
    link = data / LINK_NAME
    if link.is_symlink():
        shutil.rmtree(link.readlink(), ignore_errors=True)
        link.unlink()

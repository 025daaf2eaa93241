"""Where the processes of one start count what `/metrics` tells. No Django here."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")


def made() -> Path:
    """A new folder, in memory where there is one.

    The counters are mapped files. On a full disk a write into one ends its process.
    """
    place = MEMORY if MEMORY.is_dir() else None
    return Path(tempfile.mkdtemp(prefix="agent-memory-counts-", dir=place))


def made_for(data: Path) -> Path:
    """One that ends with this process, or before the next on the same data starts."""
    known = data / "counts"
    if known.is_symlink():
        # The process before was killed.
        shutil.rmtree(known.readlink(), ignore_errors=True)
        known.unlink()
    folder = made()
    known.symlink_to(folder)
    atexit.register(_remove, folder, known)
    return folder


def _remove(folder: Path, known: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    known.unlink(missing_ok=True)

"""Where the processes of one start count what `/metrics` tells. No Django here."""

from __future__ import annotations

import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")


def made() -> Path:
    """A new folder, in memory where there is one.

    The counters are mapped files. On a full disk a write into one ends its process.
    """
    place = MEMORY if MEMORY.is_dir() else None
    return Path(tempfile.mkdtemp(prefix="agent-memory-counts-", dir=place))

"""Whether the machine has a core to spare at this moment."""

from __future__ import annotations

import functools
import os


def has_idle() -> bool:
    """Whether no thread waits for a core: the caller's own counts, and so may one beside it.

    As Linux tells (proc(5): runnable/all); elsewhere nothing is known, so False.
    """
    try:
        runnable = int(os.pread(_load_file(), 64, 0).split()[3].partition(b"/")[0])
    except (OSError, ValueError, IndexError):
        return False
    return 1 < len(os.sched_getaffinity(0)) >= runnable


@functools.cache
def _load_file() -> int:
    """Kept open: each call of the system lets other threads go first."""
    return os.open("/proc/loadavg", os.O_RDONLY)

"""Whether the machine has a core to spare at this moment."""

from __future__ import annotations

import functools
import os


def has_idle() -> bool:
    """Whether no thread waits for a core: the caller's own counts, and so may one beside it.

    As Linux tells (proc(5): runnable/all); elsewhere nothing is known, so False.
    """
    load = _load()
    if load is None:
        return False
    runnable = os.pread(load, 64, 0).split()[3].partition(b"/")[0]
    return 1 < len(os.sched_getaffinity(0)) >= int(runnable)


@functools.cache
def _load() -> int | None:
    """Kept open: each call of the system lets other threads go first."""
    try:
        return os.open("/proc/loadavg", os.O_RDONLY)
    except OSError:
        return None

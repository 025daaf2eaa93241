"""Find out whether the machine has an idle core at this moment."""

from __future__ import annotations

import functools
import os


def has_idle() -> bool:
    """Return whether there are at least two cores and no more runnable threads than cores.

    The calling thread counts as runnable. The function reads /proc/loadavg (proc(5)), so it
    always returns False on systems other than Linux.
    """
    try:
        runnable = int(os.pread(_load_file(), 64, 0).split()[3].partition(b"/")[0])
    except (OSError, ValueError, IndexError):
        return False
    return 1 < len(os.sched_getaffinity(0)) >= runnable


@functools.cache
def _load_file() -> int:
    """Return the file, opened only once, because each system call lets other threads run."""
    return os.open("/proc/loadavg", os.O_RDONLY)

"""Whether the machine has a core to spare at this moment."""

from __future__ import annotations

import os
from pathlib import Path

LOAD = Path("/proc/loadavg")


def has_idle() -> bool:
    """Whether no thread waits for a core: the caller's own counts, and so may one beside it.

    As Linux tells (proc(5): runnable/all); elsewhere nothing is known, so False.
    """
    try:
        runnable = LOAD.read_text().split()[3].partition("/")[0]
    except OSError:
        return False
    return 1 < len(os.sched_getaffinity(0)) >= int(runnable)

"""Time-ordered ids of rows (UUID version 7)."""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from datetime import datetime


def uuid7() -> uuid.UUID:
    """Make a time-ordered id (RFC 9562, version 7).

    The 12 bits after the milliseconds hold the fraction of the millisecond. The ids of one
    process therefore sort in the order in which the process made them.
    """
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    fraction = nanoseconds * 4096 // 1_000_000
    tail = int.from_bytes(os.urandom(8), "big") >> 2
    value = milliseconds << 80 | 7 << 76 | fraction << 64 | 2 << 62 | tail
    return uuid.UUID(int=value)


def lowest_id_at(moment: datetime) -> uuid.UUID:
    """Return the lowest id that a row made at this time can have; ids sort by time."""
    milliseconds = int(moment.timestamp() * 1000)
    return uuid.UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62)


def named_id_at(moment: datetime, name: str) -> uuid.UUID:
    """Return the id of what happened at a time, the same one for each time and name."""
    tail = int.from_bytes(hashlib.sha256(name.encode()).digest()[:10], "big")
    fraction, rest = tail >> 68, tail & (1 << 62) - 1
    return uuid.UUID(int=lowest_id_at(moment).int | fraction << 64 | rest)

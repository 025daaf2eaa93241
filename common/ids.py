from __future__ import annotations

import os
import time
import uuid
from datetime import datetime


def uuid7() -> uuid.UUID:
    """Make a time-ordered id (RFC 9562, version 7).

    The 12 bits after the milliseconds hold the fraction of the millisecond, so
    that ids made in one process sort in the order they were made in.
    """
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    fraction = rest * 4096 // 1_000_000
    tail = int.from_bytes(os.urandom(8), "big") >> 2
    value = milliseconds << 80 | 7 << 76 | fraction << 64 | 2 << 62 | tail
    return uuid.UUID(int=value)


def lowest_id_at(moment: datetime) -> uuid.UUID:
    """The least id of this version that can be made at the moment, or later."""
    milliseconds = int(moment.timestamp() * 1000)
    return uuid.UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62)


def earliest_id_at(at: datetime) -> uuid.UUID:
    """The lowest id that a row of that moment can have: an index on ids knows times."""
    return uuid.UUID(int=int(at.timestamp() * 1000) << 80 | 7 << 76 | 2 << 62)

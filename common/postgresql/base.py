from __future__ import annotations

import select
import time
from typing import Any

from django.db.backends.postgresql import base
from psycopg import Connection
from psycopg.pq import TransactionStatus

# Connections that rested longer are asked: the server may have gone without a word.
RECENT_SECONDS = 5.0


class DatabaseWrapper(base.DatabaseWrapper):
    """Does not ask the server for a sign of life over a connection that is in use.

    Each request looks, and a round trip took a fiftieth of a short search.
    """

    _seen_at = float("-inf")

    def is_usable(self) -> bool:
        now = time.monotonic()
        rested, self._seen_at = now - self._seen_at, now
        if rested < RECENT_SECONDS and _is_idle(self.connection):
            return True
        return super().is_usable()


def _is_idle(connection: Connection[Any] | None) -> bool:
    """Whether nothing is to be read from it, as would be its end, or a notice."""
    if connection is None or connection.closed:
        return False
    if connection.info.transaction_status != TransactionStatus.IDLE:
        return False
    watched = select.poll()
    watched.register(connection.fileno(), select.POLLIN)
    return not watched.poll(0)

"""Read in another thread, which has a connection to the database of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache
from threading import BoundedSemaphore
from typing import TypeVar

from django.db import connection, connections

T = TypeVar("T")

# Of one process, started on demand: three for each of three invocations at the same time.
MAX_THREADS = 9


def begin_read(source: Callable[[], T]) -> Callable[[], T]:
    """Start a read in another thread; return a function that waits for its answer.

    The read begins only when it is waited for, in the calling thread, if no thread is free;
    inside a transaction, which other threads do not see; and where connections are pooled,
    because requests that hold one and wait for three more would wait for each other.
    """
    if connection.in_atomic_block or _has_pool():
        return source
    threads = _side_threads(os.getpid())
    return threads.begin(source) if threads.free.acquire(blocking=False) else source


def _has_pool() -> bool:
    return bool(connection.settings_dict.get("OPTIONS", {}).get("pool"))


class SideThreads:
    """Threads that keep their connections as long as CONN_MAX_AGE says.

    A new connection is slow: its process maps the indexes during the first searches.
    """

    def __init__(self) -> None:
        self.free = BoundedSemaphore(MAX_THREADS)
        self._threads = ThreadPoolExecutor(MAX_THREADS, "recall")

    def begin(self, source: Callable[[], T]) -> Callable[[], T]:
        context = copy_context()
        return self._threads.submit(context.run, self._read, source).result

    def _read(self, source: Callable[[], T]) -> T:
        try:
            _close_old_connections()
            return source()
        finally:
            _close_old_connections()
            self.free.release()


@lru_cache(maxsize=1)
def _side_threads(pid: int) -> SideThreads:
    """Return the threads of this process; a fork has none of its parent's threads."""
    return SideThreads()


def _close_old_connections() -> None:
    """Close this thread's connections that failed or are too old, as after a request."""
    for each in connections.all(initialized_only=True):
        each.close_if_unusable_or_obsolete()

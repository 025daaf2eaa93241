"""Reads that a replica may answer: searches and context, never a write's own session.

A replica is used when it has everything that the primary had written before the read
began, or is at most DATABASE_REPLICA_LAG seconds behind. A read inside a transaction,
one after a write and one of a table that is not in REPLICA_APPS ask the primary.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog
from django.conf import settings
from django.db import (
    DEFAULT_DB_ALIAS,
    InterfaceError,
    OperationalError,
    connection,
    connections,
)
from django.db.models import Model
from prometheus_client import Counter
from psycopg.errors import QueryCanceled

R = TypeVar("R")

log = structlog.get_logger(__name__)

PREFIX = "replica"
# Seconds for which a replica that failed, or that was behind, is left alone.
REST = {"answered": 0.0, "behind": 1.0, "down": 10.0}
PATIENCE = 0.02  # seconds that a read waits for a replica to catch up
POLL = 0.001  # seconds between two looks
READS = Counter(
    "memory_replica_reads",
    "Reads that a replica could have answered, by what became of it.",
    ["replica", "outcome"],  # answered | behind | down
)


@dataclass
class Reading:
    """A block of reads on one replica; it ends with the first write."""

    alias: str
    has_written: bool = False


@dataclass(frozen=True)
class Met:
    """What this process last met with a replica, and why it was down."""

    at: float
    outcome: str
    why: str = ""

    @property
    def age(self) -> float:
        return time.monotonic() - self.at


_reading: ContextVar[Reading | None] = ContextVar("reading", default=None)
_met: dict[str, Met] = {}


class Router:
    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        reading = _reading.get()
        if reading is None or reading.has_written or connection.in_atomic_block:
            return DEFAULT_DB_ALIAS
        is_read = model._meta.app_label in settings.REPLICA_APPS
        return reading.alias if is_read else DEFAULT_DB_ALIAS

    def db_for_write(self, model: type[Model], **hints: Any) -> str:
        if reading := _reading.get():
            reading.has_written = True
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Model, other: Model, **hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS


def read(function: Callable[[], R]) -> R:
    """Call a function that reads, on a replica when one can answer.

    When the replica fails on the way, the function is called again on the primary.
    """
    alias = _chosen()
    if alias is None:
        return function()
    with _on(alias) as reading:
        try:
            answer = function()
        except (OperationalError, InterfaceError) as error:
            # What took too long here takes too long there.
            if reading.has_written or isinstance(error.__cause__, QueryCanceled):
                raise
            _leave(alias, error)
        else:
            _note(alias, "answered")
            return answer
    return function()


def aliases() -> list[str]:
    return [alias for alias in connections if alias.startswith(PREFIX)]


def met() -> dict[str, str]:
    """What this process last met with each replica, in words."""
    return {alias: _told(_met.get(alias)) for alias in aliases()}


def _told(last: Met | None) -> str:
    if last is None:
        return "not asked yet"
    return f"{last.outcome} {last.age:.0f} s ago{last.why and f': {last.why}'}"


@contextmanager
def _on(alias: str) -> Iterator[Reading]:
    reading = Reading(alias)
    token = _reading.set(reading)
    try:
        yield reading
    finally:
        _reading.reset(token)


def _chosen() -> str | None:
    """A replica that is fresh enough, any of them."""
    able = [alias for alias in aliases() if not _rests(alias)]
    if not able or connection.in_atomic_block:
        return None
    with connection.cursor() as cursor:
        cursor.execute(WRITTEN)
        written = cursor.fetchone()[0]
    random.shuffle(able)
    return next((alias for alias in able if _is_fresh(alias, written)), None)


# A commit is answered once it is flushed, or with synchronous_commit=off before.
WRITTEN = """
SELECT (CASE current_setting('synchronous_commit')
        WHEN 'off' THEN pg_current_wal_insert_lsn()
        ELSE pg_current_wal_flush_lsn() END)::text
"""


def _rests(alias: str) -> bool:
    last = _met.get(alias)
    return last is not None and last.age < REST[last.outcome]


FRESH = """
SELECT pg_is_in_recovery(), pg_last_wal_replay_lsn() >= %s::pg_lsn,
       extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())
"""


def _is_fresh(alias: str, written: str) -> bool:
    """Whether a replica has what was written, now or in a moment."""
    deadline = time.monotonic() + PATIENCE
    try:
        while not _has(alias, written):
            if time.monotonic() > deadline:
                _note(alias, "behind")
                return False
            time.sleep(POLL)
    except (OperationalError, InterfaceError) as error:
        _leave(alias, error)
        return False
    return True


def _has(alias: str, written: str) -> bool:
    with connections[alias].cursor() as cursor:
        cursor.execute(FRESH, [written])
        is_replica, has_all, age = cursor.fetchone()
    if not is_replica:
        raise OperationalError("it is no replica: it takes writes")
    lag = settings.DATABASE_REPLICA_LAG
    return bool(has_all or (lag and age is not None and age <= lag))


def _leave(alias: str, error: Exception) -> None:
    """Leave a replica alone for a while; searches read the primary."""
    log.warning("replica_down", replica=alias, error=str(error))
    connections[alias].close()
    _note(alias, "down", why=str(error).strip())


def _note(alias: str, outcome: str, *, why: str = "") -> None:
    READS.labels(alias, outcome).inc()
    _met[alias] = Met(time.monotonic(), outcome, why)

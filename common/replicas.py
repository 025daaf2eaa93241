"""Route reads of searches and context to a replica of the database.

A replica answers if it has everything that the primary had written before the read began,
or if the replica is at most DATABASE_REPLICA_LAG seconds behind. The primary answers inside
a transaction, after a write, and for tables of apps that are not in REPLICA_APPS.
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
# {outcome of the last read from a replica: seconds until the next read from that replica}
REST_SECONDS = {"answered": 0.0, "behind": 1.0, "down": 10.0}
CATCH_UP_SECONDS = 0.02  # the longest wait of a read for a replica to catch up
POLL_SECONDS = 0.001  # between two checks of a replica
READS = Counter(
    "memory_replica_reads",
    "Reads that a replica could have answered, by what became of it.",
    ["replica", "outcome"],  # answered | behind | down
)


@dataclass
class ReplicaRead:
    """A block of reads from one replica; it ends with the first write."""

    alias: str
    has_written: bool = False


@dataclass(frozen=True)
class Contact:
    """The outcome of this process's last read from a replica, and why it was down."""

    at: float
    outcome: str
    why: str = ""

    @property
    def age(self) -> float:
        return time.monotonic() - self.at


_current_read: ContextVar[ReplicaRead | None] = ContextVar("reading", default=None)
_contacts: dict[str, Contact] = {}


class ReplicaRouter:
    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        reading = _current_read.get()
        if reading is None or reading.has_written or connection.in_atomic_block:
            return DEFAULT_DB_ALIAS
        is_read = model._meta.app_label in settings.REPLICA_APPS
        return reading.alias if is_read else DEFAULT_DB_ALIAS

    def db_for_write(self, model: type[Model], **hints: Any) -> str:
        if reading := _current_read.get():
            reading.has_written = True
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Model, other: Model, **hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS


def read_from_replica(function: Callable[[], R]) -> R:
    """Call a function that reads, on a replica if one can answer.

    If the replica fails, call the function again on the primary.
    """
    alias = _choose()
    if alias is None:
        return function()
    with _use(alias) as reading:
        try:
            answer = function()
        except (OperationalError, InterfaceError) as error:
            # A query that was too slow on the replica is also too slow on the primary.
            if reading.has_written or isinstance(error.__cause__, QueryCanceled):
                raise
            _set_aside(alias, error)
        else:
            _record_contact(alias, "answered")
            return answer
    return function()


def aliases() -> list[str]:
    return [alias for alias in connections if alias.startswith(PREFIX)]


def describe_contacts() -> dict[str, str]:
    """Return the outcome of the last read from each replica, in words."""
    return {alias: _describe(_contacts.get(alias)) for alias in aliases()}


def _describe(last: Contact | None) -> str:
    if last is None:
        return "not used yet"
    return f"{last.outcome} {last.age:.0f} s ago{last.why and f': {last.why}'}"


@contextmanager
def _use(alias: str) -> Iterator[ReplicaRead]:
    reading = ReplicaRead(alias)
    token = _current_read.set(reading)
    try:
        yield reading
    finally:
        _current_read.reset(token)


def _choose() -> str | None:
    """Return a replica that is fresh enough, chosen at random; None if there is none."""
    candidates = [alias for alias in aliases() if not _is_resting(alias)]
    if not candidates or connection.in_atomic_block:
        return None
    with connection.cursor() as cursor:
        cursor.execute(WRITTEN_LSN)
        written = cursor.fetchone()[0]
    random.shuffle(candidates)
    return next((alias for alias in candidates if _is_fresh(alias, written)), None)


# A commit returns once it is flushed; with synchronous_commit=off it returns earlier.
WRITTEN_LSN = """
SELECT (CASE current_setting('synchronous_commit')
        WHEN 'off' THEN pg_current_wal_insert_lsn()
        ELSE pg_current_wal_flush_lsn() END)::text
"""


def _is_resting(alias: str) -> bool:
    last = _contacts.get(alias)
    return last is not None and last.age < REST_SECONDS[last.outcome]


REPLICA_STATE = """
SELECT pg_is_in_recovery(), pg_last_wal_replay_lsn() >= %s::pg_lsn,
       extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())
"""


def _is_fresh(alias: str, written: str) -> bool:
    """Return whether a replica has replayed what was written; wait a moment for the replica."""
    deadline = time.monotonic() + CATCH_UP_SECONDS
    try:
        while not _has_replayed(alias, written):
            if time.monotonic() > deadline:
                _record_contact(alias, "behind")
                return False
            time.sleep(POLL_SECONDS)
    except (OperationalError, InterfaceError) as error:
        _set_aside(alias, error)
        return False
    return True


def _has_replayed(alias: str, written: str) -> bool:
    with connections[alias].cursor() as cursor:
        cursor.execute(REPLICA_STATE, [written])
        is_replica, has_all, age = cursor.fetchone()
    if not is_replica:
        raise OperationalError("it is no replica: it takes writes")
    lag = settings.DATABASE_REPLICA_LAG
    return bool(has_all or (lag and age is not None and age <= lag))


def _set_aside(alias: str, error: Exception) -> None:
    """Stop using a replica for a while; during this time searches read the primary."""
    log.warning("replica_down", replica=alias, error=str(error))
    connections[alias].close()
    _record_contact(alias, "down", why=str(error).strip())


def _record_contact(alias: str, outcome: str, *, why: str = "") -> None:
    READS.labels(alias, outcome).inc()
    _contacts[alias] = Contact(time.monotonic(), outcome, why)

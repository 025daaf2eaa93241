"""Advisory locks of PostgreSQL by name, and a session without timeouts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from common.db import Statement, execute_many


def lock_number(name: str) -> int:
    """Return the signed 64-bit number of a name, for `pg_advisory_lock`."""
    digest = hashlib.sha256(name.encode()).digest()[:8]
    return int.from_bytes(digest, "big", signed=True)


@contextmanager
def advisory_lock(name: str) -> Iterator[None]:
    """Hold a lock of the database session while the block runs."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [lock_number(name)])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [lock_number(name)])


@contextmanager
def try_advisory_lock(name: str) -> Iterator[bool]:
    """Like `advisory_lock`, but do not wait; yield False if another session holds the lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [lock_number(name)])
        is_mine = bool(cursor.fetchone()[0])
    try:
        yield is_mine
    finally:
        if is_mine:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [lock_number(name)])


def lock_in_transaction(name: str) -> None:
    """Hold a lock until the current transaction ends."""
    execute_many(("SELECT pg_advisory_xact_lock(%s)", [lock_number(name)]))


def shared_lock_statement(name: str) -> Statement:
    """Return the statement that holds a shared lock until the transaction ends.

    A later statement of the same message sees everything that was committed before the lock
    was taken.
    """
    return "SELECT pg_advisory_xact_lock_shared(%s)", [lock_number(name)]


@contextmanager
def no_timeouts() -> Iterator[None]:
    """Let statements of this session run, and wait for locks, as long as they need.

    Indexes are built serially. A parallel build would use every core, and it would need
    shared memory that containers rarely have.
    """
    values = {
        "statement_timeout": "0",
        "lock_timeout": "0",
        "max_parallel_maintenance_workers": "0",
    }
    with connection.cursor() as cursor:
        for setting, value in values.items():
            cursor.execute(f"SET {setting} = {value}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for setting in values:
                cursor.execute(f"RESET {setting}")

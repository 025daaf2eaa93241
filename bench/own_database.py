"""A database of the benchmark's own, on the servers of the settings.

The served database stays as it is, and a benchmark is not slowed by what it holds.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import redis
from django.conf import settings
from django.db import connection
from psycopg import sql

# A run drops what a killed run has left. It keeps databases of KEPT.
PREFIX, KEPT = "benchmark_run_", "benchmark_kept_"
# The end of the name of the second database that a run may have.
SECOND = "_second"
# The number of databases of a Redis server, if the server does not say.
REDIS_DATABASES = 16
# The command that made a database holds this lock of the served one until its end.
LOCK = "SELECT pg_try_advisory_lock(hashtext(%s))"
MIGRATE = ["manage.py", "migrate", "--verbosity", "0"]
LEFT_OVERS = "SELECT datname FROM pg_database WHERE starts_with(datname, %s)"


@dataclass(frozen=True)
class OwnDatabase:
    """A database, and the environment of programs that use it."""

    name: str
    environment: dict[str, str]


@contextmanager
def create(*, keep: bool) -> Iterator[OwnDatabase]:
    """Create and migrate a database; drop it at the end of the block, also after an error.

    With `keep`, the database stays.
    """
    _drop_left_overs()
    name = f"{KEPT if keep else PREFIX}{uuid4().hex[:12]}"
    _lock(name)
    _execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        own = OwnDatabase(name, _environment(name))
        run(MIGRATE, own.environment)
        yield own
    finally:
        if not keep:
            _drop(name)


@contextmanager
def create_for(tree: Path) -> Iterator[OwnDatabase]:
    """Create a second database, migrated by another checkout; drop it after the block.

    The lock of the first one protects it too.
    """
    name = f"{connection.settings_dict['NAME']}{SECOND}"
    _execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        own = OwnDatabase(name, _environment(name))
        run(MIGRATE, own.environment, tree)
        yield own
    finally:
        _drop(name)


def run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    tree: Path = settings.BASE_DIR,
) -> None:
    """Run a Python program of a checkout; raises CalledProcessError."""
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, env=environment, cwd=tree) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            # The terminal interrupts the program too; it ends what it has started.
            process.wait()
            raise
    if code:
        raise subprocess.CalledProcessError(code, arguments)


def _environment(name: str) -> dict[str, str]:
    database = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}")
    environment = os.environ | {
        "DATABASE_URL": database.geturl(),
        "DATABASE_REPLICA_URLS": "",
        "REDIS_URL": _last_redis_database(settings.REDIS_URL),
    }
    environment.pop("CELERY_BROKER_URL", None)
    return environment


def _last_redis_database(url: str) -> str:
    """Return the address of the last database of the Redis server, which nobody else uses."""
    try:
        with redis.Redis.from_url(url) as client:
            count = int(client.config_get("databases")["databases"])
    except (redis.RedisError, KeyError):
        count = REDIS_DATABASES
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return f"unix://{parts.netloc}{parts.path}?db={count - 1}"
    return parts._replace(path=f"/{count - 1}").geturl()


def _drop_left_overs() -> None:
    with connection.cursor() as cursor:
        cursor.execute(LEFT_OVERS, [PREFIX])
        names = [name for (name,) in cursor.fetchall()]
    for name in filter(_lock, names):
        _drop(name)


def _lock(name: str) -> bool:
    """Return whether no other command uses the database, and keep others from dropping it."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [name.removesuffix(SECOND)])
        (is_mine,) = cursor.fetchone()
    return bool(is_mine)


def _drop(name: str) -> None:
    """Drop a database; PostgreSQL waits some seconds for the end of its sessions.

    WITH (FORCE) is not used: only a superuser may end the sessions of autovacuum, which a
    plain DROP DATABASE ends by itself.
    """
    _execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))


def _execute(statement: sql.Composed) -> None:
    """Run a statement that no transaction may hold; raises DatabaseError."""
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute(statement)

"""Compare the migrations that the database has with the migrations of this code."""

from __future__ import annotations

import hashlib

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

MAX_NAMES = 3  # the migrations that a message names


class NewerSchema(Exception):
    """A newer release has migrated the database, and this code cannot serve it."""


def count_pending() -> int:
    """Return how many migrations of this code the database does not have."""
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def unknown_migrations(link: BaseDatabaseWrapper) -> list[str]:
    """Return the migrations that the database has and this code does not, as `app.name`."""
    loader = MigrationLoader(None)
    known = set(loader.disk_migrations)
    for migration in loader.disk_migrations.values():
        known.update(migration.replaces)
    applied = MigrationRecorder(link).applied_migrations()
    return sorted(".".join(key) for key in applied if key not in known)


def refuse_newer(link: BaseDatabaseWrapper = connection) -> None:
    if unknown := unknown_migrations(link):
        raise NewerSchema(describe_newer(unknown))


def describe_newer(unknown: list[str]) -> str:
    names = ", ".join(unknown[:MAX_NAMES])
    more = f" and {len(unknown) - MAX_NAMES} more" if len(unknown) > MAX_NAMES else ""
    return (
        "A newer release has migrated this database: this code does not know "
        f"{names}{more}. Start the newer release, or restore the backup from before its "
        'upgrade: docs/operations.md, "Go back to an older release".'
    )


def hash_applied() -> str:
    """Return a hash of the names of the applied migrations."""
    applied = MigrationRecorder(connection).applied_migrations()
    names = "\n".join(sorted(".".join(key) for key in applied))
    return hashlib.sha256(names.encode()).hexdigest()

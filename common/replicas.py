"""Route reads of searches and context to a replica of the database.

A replica may be behind, so that such a read can miss what was written a moment ago. The
primary answers inside a transaction, after a write, and for tables of apps that are not in
REPLICA_APPS.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextvars import ContextVar
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
from psycopg.errors import QueryCanceled

R = TypeVar("R")

log = structlog.get_logger(__name__)

_alias: ContextVar[str] = ContextVar("alias", default=DEFAULT_DB_ALIAS)


class ReplicaRouter:
    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        is_read = model._meta.app_label in settings.REPLICA_APPS
        if is_read and not connection.in_atomic_block:
            return _alias.get()
        return DEFAULT_DB_ALIAS

    def db_for_write(self, model: type[Model], **hints: Any) -> str:
        _alias.set(DEFAULT_DB_ALIAS)  # what was written is read where it was written
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Model, other: Model, **hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS


def read_from_replica(function: Callable[[], R]) -> R:
    """Call a function that reads, on a replica chosen at random.

    If the replica fails, call the function again on the primary.
    """
    replicas = [alias for alias in connections if alias != DEFAULT_DB_ALIAS]
    if not replicas or connection.in_atomic_block:
        return function()
    alias = random.choice(replicas)
    token = _alias.set(alias)
    try:
        return function()
    except (OperationalError, InterfaceError) as error:
        # A query that was too slow on the replica is also too slow on the primary.
        if _alias.get() != alias or isinstance(error.__cause__, QueryCanceled):
            raise
        log.warning("replica_down", replica=alias, error=str(error))
        connections[alias].close()
    finally:
        _alias.reset(token)
    return function()

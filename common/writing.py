"""The write wrapper: one transaction, repeated once when the database chose a victim."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import structlog
from django.db import IntegrityError, OperationalError, connection, transaction
from psycopg import errors as pg

P = ParamSpec("P")
R = TypeVar("R")

log = structlog.get_logger(__name__)

# Another writer was faster: the second attempt sees what it wrote.
VICTIM = (pg.DeadlockDetected, pg.SerializationFailure, pg.UniqueViolation)


def write(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function in one transaction; repeat it once after a lost race.

    A deadlock, or a unique name that was free when the function looked.

    Inside a caller's own transaction it only opens a savepoint: the outermost
    writer is the one that can repeat.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        outermost = not connection.in_atomic_block
        try:
            with transaction.atomic():
                return function(*args, **kwargs)
        except (OperationalError, IntegrityError) as error:
            if not (outermost and isinstance(error.__cause__, VICTIM)):
                raise
            log.warning("write_repeated", function=function.__qualname__)
        with transaction.atomic():
            return function(*args, **kwargs)

    return wrapper

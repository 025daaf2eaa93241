"""Database access beside the ORM: retried writes, several statements in one message, inserts.

Code that avoids the ORM does so because of a measurement. Each function says which cost it
avoids.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import structlog
from django.db import (
    DEFAULT_DB_ALIAS,
    IntegrityError,
    OperationalError,
    connection,
    connections,
    transaction,
)
from django.db.models import Model, QuerySet
from django.db.models.constants import OnConflict
from django.db.models.sql import InsertQuery
from psycopg import errors as pg

P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M", bound=Model)

# SQL and its parameters.
Statement = tuple[str, Sequence[Any]]

log = structlog.get_logger(__name__)

# Another writer was faster. The second attempt sees the rows of that writer.
RETRYABLE = (pg.DeadlockDetected, pg.SerializationFailure, pg.UniqueViolation)
DELETE_BATCH = 5_000  # rows deleted in one statement


def write(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function in one transaction; run it a second time if the first run loses a race.

    A run loses a race if there is a deadlock, or if another writer takes a unique name
    first. Inside a caller's transaction, `write` only opens a savepoint, and the outermost
    `write` repeats.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        outermost = not connection.in_atomic_block
        try:
            with transaction.atomic():
                return function(*args, **kwargs)
        except (OperationalError, IntegrityError) as error:
            if not (outermost and isinstance(error.__cause__, RETRYABLE)):
                raise
            log.warning("write_repeated", function=function.__qualname__)
        with transaction.atomic():
            return function(*args, **kwargs)

    return wrapper


def execute_many(
    *statements: Statement, using: str = DEFAULT_DB_ALIAS
) -> list[list[tuple[Any, ...]]]:
    """Send several statements in one message; return the rows of each.

    A round trip wakes two processes, so one message is faster than several messages. The
    statements run one after the other, and each statement sees what was committed before
    the statement began. If a statement fails, the statements after it do not run.
    """
    command = "; ".join(sql for sql, _ in statements)
    params = [value for _, values in statements for value in values]
    results: list[list[tuple[Any, ...]]] = []
    with connections[using].cursor() as cursor:
        cursor.execute(command, params)
        while len(results) < len(statements):
            results.append(cursor.fetchall() if cursor.description else [])
            cursor.nextset()
    return results


def insert_new(rows: Sequence[Model]) -> set[Any]:
    """Insert rows of one model; skip rows that conflict; return the keys of the new rows.

    `bulk_create` does not say which rows it skipped, so it would need a second query.
    """
    if not rows:
        return set()
    sql, params = insert_statement(rows, OnConflict.IGNORE)
    (keys,) = execute_many((f"{sql} RETURNING {rows[0]._meta.pk.column}", params))
    new = {pk for (pk,) in keys}
    for row in rows:
        row._state.adding = row.pk not in new
    return new


def insert_statement(
    rows: Sequence[Model], on_conflict: OnConflict | None = None
) -> Statement:
    """Build the statement that inserts rows of one model; the rows stay unsaved objects.

    The statement leaves out columns that are null in every row. In a memory, a quarter of
    the columns are null.
    """
    query = InsertQuery(type(rows[0]), on_conflict=on_conflict)
    fields = [
        field
        for field in rows[0]._meta.concrete_fields
        if not (field.generated or (field.null and _is_null(field.attname, rows)))
    ]
    query.insert_values(fields, list(rows))
    # The connection is passed on, because a look-up of the connection for each column takes
    # half of the time.
    compiler = query.get_compiler(connection=connections[DEFAULT_DB_ALIAS])
    ((sql, params),) = compiler.as_sql()
    return sql, params


def _is_null(name: str, rows: Sequence[Model]) -> bool:
    return all(getattr(row, name) is None for row in rows)


def delete_in_batches(rows: QuerySet[Any]) -> None:
    """Delete rows in batches, because one huge statement would hold its locks too long."""
    while True:
        batch = list(rows.order_by("pk").values_list("pk", flat=True)[:DELETE_BATCH])
        if not batch:
            return
        rows.model._base_manager.filter(pk__in=batch).delete()


class RowReader(Generic[M]):
    """Read model instances with SQL that selects `columns` first and then other values.

    A raw queryset inspects the selected columns, and this inspection takes longer than a
    short statement.
    """

    def __init__(self, model: type[M], without: Collection[str] = ()) -> None:
        fields = [f for f in model._meta.concrete_fields if f.name not in without]
        table = model._meta.db_table
        self.model = model
        self.names = [field.attname for field in fields]
        self.columns = ", ".join(f'"{table}"."{field.column}"' for field in fields)
        self._converters = [
            (position, field)
            for position, field in enumerate(fields)
            if hasattr(field, "from_db_value")
        ]

    def read(
        self, sql: str, params: Sequence[Any], using: str = DEFAULT_DB_ALIAS
    ) -> list[tuple[M, Sequence[Any]]]:
        """For each row, return the instance and the other values that the statement selected."""
        connection = connections[using]
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            records = cursor.fetchall()
        return [self._instance(record, using, connection) for record in records]

    def _instance(
        self, record: Sequence[Any], using: str, connection: Any
    ) -> tuple[M, Sequence[Any]]:
        values = list(record[: len(self.names)])
        for position, field in self._converters:
            value = values[position]
            if value is not None:
                values[position] = field.from_db_value(value, None, connection)
        row = self.model.from_db(using, self.names, values)
        return row, record[len(self.names) :]

"""The write wrapper: one transaction, repeated once when the database chose a victim."""

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

log = structlog.get_logger(__name__)

# Another writer was faster: the second attempt sees what it wrote.
RETRYABLE = (pg.DeadlockDetected, pg.SerializationFailure, pg.UniqueViolation)


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
            if not (outermost and isinstance(error.__cause__, RETRYABLE)):
                raise
            log.warning("write_repeated", function=function.__qualname__)
        with transaction.atomic():
            return function(*args, **kwargs)

    return wrapper


# SQL with its parameters.
Statement = tuple[str, Sequence[Any]]


def execute_many(
    *statements: Statement, using: str = DEFAULT_DB_ALIAS
) -> list[list[tuple[Any, ...]]]:
    """The rows of each statement, all of which go in one message.

    They run one after the other: each sees what was committed before it began. When one
    fails, those behind it do not run.
    """
    command = "; ".join(sql for sql, _ in statements)
    params = [value for _, values in statements for value in values]
    answers: list[list[tuple[Any, ...]]] = []
    with connections[using].cursor() as cursor:
        cursor.execute(command, params)
        while len(answers) < len(statements):
            answers.append(cursor.fetchall() if cursor.description else [])
            cursor.nextset()
    return answers


def insert_new(rows: Sequence[Model]) -> set[Any]:
    """Insert rows of one model unless others hold their places; the keys of what went in.

    `bulk_create` ignores conflicts without telling which, and would have to be followed
    by a look.
    """
    if not rows:
        return set()
    sql, params = insert_statement(rows, OnConflict.IGNORE)
    (found,) = execute_many((f"{sql} RETURNING {rows[0]._meta.pk.column}", params))
    inserted = {pk for (pk,) in found}
    for row in rows:
        row._state.adding = row.pk not in inserted
    return inserted


def insert_statement(
    rows: Sequence[Model], on_conflict: OnConflict | None = None
) -> Statement:
    """The statement that inserts rows of one model; the rows do not learn of it.

    Columns that all of them leave null are left out: a quarter of a memory's.
    """
    query = InsertQuery(type(rows[0]), on_conflict=on_conflict)
    fields = [
        field
        for field in rows[0]._meta.concrete_fields
        if not (field.generated or (field.null and _is_null(field.attname, rows)))
    ]
    query.insert_values(fields, list(rows))
    # The connection itself: half of the time would go to finding it for each column.
    compiler = query.get_compiler(connection=connections[DEFAULT_DB_ALIAS])
    ((sql, params),) = compiler.as_sql()
    return sql, params


def _is_null(name: str, rows: Sequence[Model]) -> bool:
    return all(getattr(row, name) is None for row in rows)


DELETE_BATCH = 5_000  # rows deleted in one statement


def delete_in_batches(rows: QuerySet[Any]) -> None:
    """Delete in batches: one huge statement would hold its locks too long."""
    while True:
        batch = list(rows.order_by("pk").values_list("pk", flat=True)[:DELETE_BATCH])
        if not batch:
            return
        rows.model._base_manager.filter(pk__in=batch).delete()


M = TypeVar("M", bound=Model)


class RowReader(Generic[M]):
    """Reads rows by statements that select its `columns` first.

    As a raw queryset, finding out what was selected took longer than a short statement.
    """

    def __init__(self, model: type[M], without: Collection[str] = ()) -> None:
        fields = [f for f in model._meta.concrete_fields if f.name not in without]
        table = model._meta.db_table
        self.model = model
        self.names = [field.attname for field in fields]
        self.columns = ", ".join(f'"{table}"."{field.column}"' for field in fields)
        self._converted = [
            (place, field)
            for place, field in enumerate(fields)
            if hasattr(field, "from_db_value")
        ]

    def read(
        self, sql: str, params: Sequence[Any], using: str = DEFAULT_DB_ALIAS
    ) -> list[tuple[M, Sequence[Any]]]:
        """Each row, and what else was selected of it."""
        connection = connections[using]
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            found = cursor.fetchall()
        return [self._row(values, using, connection) for values in found]

    def _row(
        self, selected: Sequence[Any], using: str, connection: Any
    ) -> tuple[M, Sequence[Any]]:
        values = list(selected[: len(self.names)])
        for place, field in self._converted:
            if values[place] is not None:
                values[place] = field.from_db_value(values[place], None, connection)
        row = self.model.from_db(using, self.names, values)
        return row, selected[len(self.names) :]

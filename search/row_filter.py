"""The filters of a queryset as an SQL condition, for use in hand-written statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from django.core.exceptions import EmptyResultSet
from django.db.models import Model, QuerySet

# A part of a statement with its parameters.
SqlFragment = tuple[str, Sequence[Any]]


@dataclass(frozen=True)
class RowFilter:
    """The SQL condition of rows in one model's table, and the database that has the table."""

    model: type[Model]
    condition: SqlFragment
    using: str

    @property
    def table(self) -> str:
        return quote_table(self.model)

    @classmethod
    def of(cls, rows: QuerySet[Any]) -> Self | None:
        """Take the condition of a queryset; None if the ORM can tell that no row matches."""
        table = quote_table(rows.model)
        try:
            sql, params = rows.order_by().values_list("pk").query.sql_with_params()
        except EmptyResultSet:
            return None
        start = f'SELECT {table}."id" AS "pk" FROM {table} WHERE '
        if not sql.startswith(start):
            raise ValueError(f"A search needs rows of one table, not {sql[:200]}")
        return cls(rows.model, (sql.removeprefix(start), params), rows.db)


def quote_table(model: type[Model]) -> str:
    return f'"{model._meta.db_table}"'

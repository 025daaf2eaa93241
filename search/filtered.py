"""The rows of a queryset as SQL, to be asked again and again in other statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet

# A part of a statement with its parameters.
Part = tuple[str, Sequence[Any]]


@dataclass(frozen=True)
class Filtered:
    """The quoted name of a table, and the condition of its rows, read from `using`."""

    table: str
    condition: Part
    using: str

    @classmethod
    def of(cls, rows: QuerySet[Any]) -> Self | None:
        """None when the filters leave nothing, as the ORM can tell."""
        table = f'"{rows.model._meta.db_table}"'
        try:
            sql, params = rows.order_by().values_list("pk").query.sql_with_params()
        except EmptyResultSet:
            return None
        start = f'SELECT {table}."id" AS "pk" FROM {table} WHERE '
        if not sql.startswith(start):
            raise ValueError(f"A search needs rows of one table, not {sql[:200]}")
        return cls(table, (sql.removeprefix(start), params), rows.db)

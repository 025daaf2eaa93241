"""Rows of a model, read by SQL of one's own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model

M = TypeVar("M", bound=Model)


class Rows(Generic[M]):
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

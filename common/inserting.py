"""Inserts that tell more than a queryset's, or go in a message with others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model
from django.db.models.constants import OnConflict
from django.db.models.sql import InsertQuery

from common.messages import Statement, ask


def insert_new(rows: Sequence[Model]) -> set[Any]:
    """Insert rows of one model unless others hold their places; the keys of what went in.

    `bulk_create` ignores conflicts without telling which, and would have to be followed
    by a look.
    """
    if not rows:
        return set()
    sql, params = insertion(rows, OnConflict.IGNORE)
    (found,) = ask((f"{sql} RETURNING {rows[0]._meta.pk.column}", params))
    inserted = {pk for (pk,) in found}
    for row in rows:
        row._state.adding = row.pk not in inserted
    return inserted


def insertion(
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

"""Inserts that tell more, or can be sent with others, than those of a queryset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Model
from django.db.models.constants import OnConflict
from django.db.models.sql import InsertQuery

from common.messages import Statement


def insert_new(rows: Sequence[Model]) -> set[Any]:
    """Insert rows of one model unless others hold their places; the keys of what went in.

    `bulk_create` ignores conflicts without telling which, and would have to be followed
    by a look.
    """
    if not rows:
        return set()
    sql, params = insertion(rows, OnConflict.IGNORE)
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} RETURNING {rows[0]._meta.pk.column}", params)
        inserted = {pk for (pk,) in cursor.fetchall()}
    for row in rows:
        row._state.adding = row.pk not in inserted
    return inserted


def insertion(
    rows: Sequence[Model], on_conflict: OnConflict | None = None
) -> Statement:
    """The statement that inserts rows of one model; the rows do not learn of it."""
    query = InsertQuery(type(rows[0]), on_conflict=on_conflict)
    fields = [f for f in rows[0]._meta.concrete_fields if not f.generated]
    query.insert_values(fields, list(rows))
    ((sql, params),) = query.get_compiler(connection=connection).as_sql()
    return sql, params

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Model
from django.db.models.constants import OnConflict
from django.db.models.sql import InsertQuery


def insert_new(rows: Sequence[Model]) -> set[Any]:
    """Insert rows of one model unless others hold their places; the keys of what went in.

    `bulk_create` ignores conflicts without telling which, and would have to be followed
    by a look.
    """
    if not rows:
        return set()
    options = rows[0]._meta
    query = InsertQuery(type(rows[0]), on_conflict=OnConflict.IGNORE)
    query.insert_values(
        [f for f in options.concrete_fields if not f.generated], list(rows)
    )
    compiler = query.get_compiler(connection=connection)
    compiler.returning_fields = [options.pk]
    ((sql, params),) = compiler.as_sql()
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        inserted = {pk for (pk,) in cursor.fetchall()}
    for row in rows:
        row._state.adding = row.pk not in inserted
    return inserted

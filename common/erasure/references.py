"""Find rows whose JSON refers to rows of a purge by id."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

ID_PATTERN = r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
BATCH_SIZE = 200  # rows in memory at a time


def rows_referencing(
    rows: QuerySet[Any], ids: Sequence[uuid.UUID], *columns: str
) -> QuerySet[Any]:
    """Return the rows whose JSON in these columns contains one of the ids anywhere.

    Each statement reads one batch of rows, because 50 kB of JSON take 2 ms and there may be
    a million rows.
    """
    table = rows.model._meta.db_table
    texts = ", ".join(f'"{table}"."{column}"' for column in columns)
    sql = (
        f"EXISTS (SELECT 1 FROM regexp_matches(concat_ws(' ', {texts}), %s, 'g')"
        " AS found WHERE found[1]::uuid = ANY(%s))"
    )
    has_id: Any = RawSQL(sql, [ID_PATTERN, list(ids)], output_field=BooleanField())
    candidates = rows.order_by("pk").values_list("pk", has_id)
    matches: list[uuid.UUID] = []
    rest = candidates
    while batch := list(rest[:BATCH_SIZE]):
        matches += [pk for pk, is_match in batch if is_match]
        rest = candidates.filter(pk__gt=batch[-1][0])
    return rows.filter(pk__in=matches)

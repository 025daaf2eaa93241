from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

BATCH = 10_000  # rows of a transaction
WITHOUT = """ts_delete(content_tsv, ARRAY(
    SELECT lexeme FROM unnest(content_tsv) WHERE lexeme ~ '^[↑⇈]'))"""
WITH = "with_tiers(content_tsv)"
WRITE = """
WITH batch AS (SELECT id FROM {table} WHERE id > %s ORDER BY id LIMIT %s),
written AS (
    UPDATE {table} SET content_tsv = {value} WHERE id IN (SELECT id FROM batch)
)
SELECT id FROM batch ORDER BY id DESC LIMIT 1
"""
# Counted anew, whatever was written since.
COUNT = "UPDATE search_corpus SET newest_id = NULL"


def written(table: str, value: str) -> Callable[[Any, Any], None]:
    """Write the lexemes of a table's rows anew, batch by batch; again does no harm."""

    def write(apps: Any, schema_editor: Any) -> None:
        last: uuid.UUID | None = uuid.UUID(int=0)
        with schema_editor.connection.cursor() as cursor:
            while last:
                command = WRITE.format(table=table, value=value)
                cursor.execute(command, [last, BATCH])
                (last,) = cursor.fetchone() or (None,)
            cursor.execute(COUNT)

    return write

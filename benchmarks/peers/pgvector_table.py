"""Plain pgvector as mem0 queries it: one table of id, vector and payload.

The HNSW index has the default options, and its searches the default `hnsw.ef_search`. A
filter is a condition on the payload.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from benchmarks.fixtures import disk_size
from benchmarks.peers.search_system import EmbeddedQuery, SearchSystem, StoredRows
from common import locks
from projects.models import Project
from search.search import Mode

TABLE = "peer_memories"
CREATE_TABLE = f"""
CREATE TABLE {TABLE} (id uuid PRIMARY KEY, vector vector(%s), payload jsonb)
"""
COPY_ROWS = f"COPY {TABLE} (id, vector, payload) FROM STDIN"
# mem0 makes the index before it inserts. To make it afterwards takes less time.
CREATE_INDEX = f"CREATE INDEX ON {TABLE} USING hnsw (vector vector_cosine_ops)"
NEAREST = f"""
SELECT id, vector <=> %s::vector AS distance, payload FROM {TABLE}
{{where}} ORDER BY distance LIMIT %s
"""
WITH_TAG = "WHERE payload->>%s = %s"


class PgvectorTable(SearchSystem):
    def search(
        self, query: EmbeddedQuery, mode: Mode, *, limit: int, tag: str = ""
    ) -> list[str]:
        statement = NEAREST.format(where=WITH_TAG if tag else "")
        condition = ("tag", tag) if tag else ()
        with connection.cursor() as cursor:
            cursor.execute(statement, [str(list(query.vector)), *condition, limit])
            return [str(row_id) for row_id, *_ in cursor.fetchall()]

    def bytes_on_disk(self) -> int:
        return disk_size.vacuumed_bytes(TABLE)


@contextmanager
def open_table(project: Project, rows: StoredRows) -> Iterator[SearchSystem]:
    """Fill and index a table, and drop it at the end of the block."""
    with connection.cursor() as cursor:
        cursor.execute(CREATE_TABLE, [rows.vectors.shape[1]])
    try:
        with locks.no_timeouts():
            _fill(rows)
        yield PgvectorTable()
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE {TABLE}")


def _fill(rows: StoredRows) -> None:
    with connection.cursor() as cursor:
        with cursor.copy(COPY_ROWS) as copy:
            columns = (rows.ids, rows.vectors, rows.texts, rows.tags)
            for row_id, vector, text, tag in zip(*columns, strict=True):
                payload = json.dumps({"data": text, "tag": tag})
                copy.write_row((row_id, str(vector.tolist()), payload))
        cursor.execute(CREATE_INDEX)
        cursor.execute(f"VACUUM ANALYZE {TABLE}")

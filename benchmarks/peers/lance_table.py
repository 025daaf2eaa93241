"""A LanceDB table: full text and vector, combined by its RRF reranker."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from benchmarks.fixtures import disk_size
from benchmarks.peers.search_system import EmbeddedQuery, SearchSystem, StoredRows
from projects.models import Project
from search.search import Mode

Index = Literal["none", "IVF_PQ", "HNSW_SQ"]
TABLE = "memories"
BATCH = 10_000  # rows of an insert; each insert makes a file of the table


class LanceTable(SearchSystem):
    """A table without an index of vectors compares a query with every row."""

    modes = ("semantic", "hybrid")

    def __init__(self, table: Any, folder: Path) -> None:
        self.table = table
        self.folder = folder

    def search(
        self, query: EmbeddedQuery, mode: Mode, *, limit: int, tag: str = ""
    ) -> list[str]:
        builder = self._hybrid(query) if mode == "hybrid" else self._nearest(query)
        if tag:
            builder = builder.where(f"tag = '{tag}'")
        found: list[str] = builder.limit(limit).to_arrow()["id"].to_pylist()
        return found

    def bytes_on_disk(self) -> int:
        return disk_size.folder_bytes(self.folder)

    def _nearest(self, query: EmbeddedQuery) -> Any:
        vector = list(query.vector)
        return self.table.search(vector, query_type="vector").distance_type("cosine")

    def _hybrid(self, query: EmbeddedQuery) -> Any:
        from lancedb.rerankers import RRFReranker

        builder = self.table.search(query_type="hybrid").vector(list(query.vector))
        return builder.text(query.text).distance_type("cosine").rerank(RRFReranker())


@contextmanager
def open_table(
    project: Project, rows: StoredRows, *, index: Index
) -> Iterator[SearchSystem]:
    """Fill and index a table in a temporary folder."""
    import lancedb

    with tempfile.TemporaryDirectory(prefix="lance-") as folder:
        table = lancedb.connect(folder).create_table(TABLE, schema=_schema(rows))
        for batch in rows.batches(BATCH):
            table.add(_arrow_table(batch))
        _make_indexes(table, index)
        yield LanceTable(table, Path(folder))


def _schema(rows: StoredRows) -> Any:
    import pyarrow

    text = pyarrow.string()
    vector = pyarrow.list_(pyarrow.float32(), rows.vectors.shape[1])
    return pyarrow.schema(
        [("id", text), ("text", text), ("tag", text), ("vector", vector)]
    )


def _arrow_table(rows: StoredRows) -> Any:
    import pyarrow

    numbers, dimensions = rows.vectors.reshape(-1), rows.vectors.shape[1]
    return pyarrow.table(
        {
            "id": rows.ids,
            "text": rows.texts,
            "tag": rows.tags,
            "vector": pyarrow.FixedSizeListArray.from_arrays(numbers, dimensions),
        }
    )


def _make_indexes(table: Any, index: Index) -> None:
    """Make the indexes with default options; leave no older version of the table on disk."""
    from lancedb.index import FTS, HnswSq, IvfPq

    table.create_index("text", config=FTS())
    if index != "none":
        kind = {"IVF_PQ": IvfPq, "HNSW_SQ": HnswSq}[index]
        table.create_index("vector", config=kind(distance_type="cosine"))
    table.optimize(cleanup_older_than=timedelta(milliseconds=1))

"""A Chroma collection in this process, stored in a folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.fixtures import disk_size
from benchmarks.peers.search_system import EmbeddedQuery, SearchSystem, StoredRows
from projects.models import Project
from search.search import Mode

COLLECTION = "memories"


class ChromaCollection(SearchSystem):
    def __init__(self, collection: Any, folder: Path) -> None:
        self.collection = collection
        self.folder = folder

    def search(
        self, query: EmbeddedQuery, mode: Mode, *, limit: int, tag: str = ""
    ) -> list[str]:
        answer = self.collection.query(
            query_embeddings=[list(query.vector)],
            n_results=limit,
            where={"tag": tag} if tag else None,
        )
        found: list[str] = answer["ids"][0]
        return found

    def bytes_on_disk(self) -> int:
        return disk_size.folder_bytes(self.folder)


@contextmanager
def open_collection(project: Project, rows: StoredRows) -> Iterator[SearchSystem]:
    """Fill a collection in a temporary folder; only the distance is not its default."""
    import chromadb

    with tempfile.TemporaryDirectory(prefix="chroma-") as folder:
        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(folder, settings)
        try:
            # Without an embedding function, Chroma loads no model.
            collection = client.create_collection(
                COLLECTION,
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine"}},
            )
            for batch in rows.batches(client.get_max_batch_size()):
                _add(collection, batch)
            yield ChromaCollection(collection, Path(folder))
        finally:
            client.close()


def _add(collection: Any, rows: StoredRows) -> None:
    collection.add(
        ids=list(rows.ids),
        embeddings=rows.vectors,
        documents=list(rows.texts),
        metadatas=[{"tag": tag} for tag in rows.tags],
    )

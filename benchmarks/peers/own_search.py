"""The service's own search, called as the API calls it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from benchmarks.fixtures import disk_size
from benchmarks.peers.search_system import EmbeddedQuery, SearchSystem, StoredRows
from common.caller import SYSTEM
from inference.embedding.vector import Vector
from memories.models import Memory, MemoryVector
from memories.queries import Filters
from memories.read import search
from projects.models import Project
from search.search import Mode


class OwnSearch(SearchSystem):
    modes = ("semantic", "hybrid")

    def __init__(self, project: Project) -> None:
        self.project = project

    def search(
        self, query: EmbeddedQuery, mode: Mode, *, limit: int, tag: str = ""
    ) -> list[str]:
        filters = Filters(tags=(tag,) if tag else ())
        request = search.MemorySearch(
            query.text, mode=mode, limit=limit, filters=filters
        )
        vector: Future[Vector] = Future()
        vector.set_result(query.vector)
        answer = search.find(self.project, request, SYSTEM, vector)
        return [str(hit.memory.pk) for hit in answer.hits]

    def bytes_on_disk(self) -> int:
        tables = [model._meta.db_table for model in (Memory, MemoryVector)]
        return disk_size.vacuumed_bytes(*tables)


@contextmanager
def open_project(project: Project, rows: StoredRows) -> Iterator[SearchSystem]:
    """Yield the project that already holds the rows."""
    yield OwnSearch(project)

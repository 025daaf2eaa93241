"""Measure searches in a large project while the project's vector index is built."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from threading import Thread
from typing import Any

from django.db import connection

from benchmarks.report import quality_metrics
from common import locks
from common.caller import SYSTEM
from inference.embedding import active_model
from memories.models import MemoryVector
from memories.read import search
from projects.models import Project
from search import vector_index

DEPTH = 20


def measure(project: Project, queries: Sequence[str]) -> dict[str, Any]:
    """Drop the project's index, rebuild the index, and search during the rebuild.

    Return the seconds of the rebuild, and the number, recall and times of the searches.
    Recall compares the answers during the rebuild with the answers that searches gave
    before the index was dropped.
    """
    before = {query: _timed_search(project, query)[0] for query in queries}
    index = vector_index.index_name(MemoryVector, project.pk, active_model.get().name)
    with connection.cursor() as cursor:
        cursor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{index}"')
    started = time.perf_counter()
    builder = Thread(target=_build, args=[project])
    builder.start()
    searches = list(_search_during(builder, project, before))
    return {
        "seconds": round(time.perf_counter() - started, 1),
        "searches": len(searches),
        "recall": round(quality_metrics.mean([same for same, _ in searches]), 4),
        "p50_ms": round(quality_metrics.percentile([ms for _, ms in searches], 0.5), 1),
        "p95_ms": round(
            quality_metrics.percentile([ms for _, ms in searches], 0.95), 1
        ),
        "is_valid": any(
            each.is_valid and each.name == index
            for each in vector_index.list_indexes(MemoryVector)
        ),
    }


def _build(project: Project) -> None:
    try:
        with locks.no_timeouts():
            vector_index.build(MemoryVector, project.pk)
    finally:
        connection.close()


def _search_during(
    builder: Thread, project: Project, before: Mapping[str, set[Any]]
) -> Iterator[tuple[float, float]]:
    for query in cycle(before):
        if not builder.is_alive():
            return
        found, ms = _timed_search(project, query)
        same = len(found & before[query]) / max(len(before[query]), 1)
        yield same, ms


def _timed_search(project: Project, query: str) -> tuple[set[Any], float]:
    started = time.perf_counter()
    request = search.MemorySearch(query, mode="semantic", limit=DEPTH)
    hits = search.find(project, request, SYSTEM).hits
    return {hit.memory.pk for hit in hits}, (time.perf_counter() - started) * 1000


def remark(row: Mapping[str, Any]) -> str:
    return (
        f"{row['searches']} searches while the index was built ({row['seconds']} s): "
        f"recall@{DEPTH} {row['recall']:.4f} of the answers before, "
        f"p50 {row['p50_ms']}, p95 {row['p95_ms']} ms"
    )

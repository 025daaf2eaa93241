"""Compare search with LanceDB, Chroma and plain pgvector: same vectors, texts and filters.

Each system has the rows of one project, and gets the vector of each query. No time contains
the embedding of a query.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from benchmarks.datasets import corpora
from benchmarks.datasets.corpora import JudgedCollection, JudgedQuery
from benchmarks.fixtures import population, temp_project
from benchmarks.fixtures.population import Passages
from benchmarks.measures import search_quality
from benchmarks.options import BenchmarkOptions
from benchmarks.peers import (
    chroma_collection,
    lance_table,
    own_search,
    pgvector_table,
    search_system,
)
from benchmarks.peers.search_system import EmbeddedQuery, SearchSystem, StoredRows
from benchmarks.report import quality_metrics
from benchmarks.report.progress_bar import ProgressBar
from projects.models import Project
from search.search import Mode

HELP = "Recall, nDCG@10, milliseconds and bytes of search beside LanceDB, Chroma, pgvector."
SIZES = [10_000, 100_000]
QUERIES, WARM_UP, DEPTH = 200, 100, 20
TAG = "twentieth"  # the tag of about 5 % of the rows
# The name of each filter in the results, and the tag that it asks for.
FILTERS = {"all": "", "filtered": TAG}
# A document of a collection can have several rows. So many rows hold ten documents, and
# plain pgvector finds no more with its default `hnsw.ef_search`.
ROWS_OF_TEN = 40
REQUIREMENTS = "requirements-peers.txt"

OpenSystem = Callable[[Project, StoredRows], AbstractContextManager[SearchSystem]]


@dataclass(frozen=True)
class ComparedSystem:
    """A system, the package that it needs, and whether it is measured on collections.

    The collections have too few rows for LanceDB's indexes of vectors.
    """

    name: str
    open: OpenSystem
    package: str = ""
    on_collections: bool = True

    @property
    def is_installed(self) -> bool:
        return not self.package or find_spec(self.package) is not None


@dataclass(frozen=True)
class QuerySample:
    """Queries of all collections: those that are measured, and those that warm up."""

    measured: Sequence[EmbeddedQuery]
    warm_up: Sequence[EmbeddedQuery]


@dataclass(frozen=True)
class StoredCollection:
    """A collection in a project: the document of each memory, queries, and rows."""

    documents: Mapping[str, str]
    judged: Sequence[JudgedQuery]
    rows: StoredRows


def _lance(index: lance_table.Index) -> OpenSystem:
    return partial(lance_table.open_table, index=index)


SYSTEMS = (
    ComparedSystem("this service", own_search.open_project),
    ComparedSystem("LanceDB, no vector index", _lance("none"), "lancedb"),
    ComparedSystem("LanceDB, IVF_PQ", _lance("IVF_PQ"), "lancedb", False),
    ComparedSystem("LanceDB, HNSW_SQ", _lance("HNSW_SQ"), "lancedb", False),
    ComparedSystem("Chroma", chroma_collection.open_collection, "chromadb"),
    ComparedSystem("pgvector", pgvector_table.open_table),
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=SIZES, help="rows of the projects"
    )
    parser.add_argument("--queries", type=int, default=QUERIES, help="of each cell")


def run(options: BenchmarkOptions) -> dict[str, Any]:
    # The run takes long, so it says at once what it leaves out.
    sys.stderr.writelines(f"{line}\n" for line in missing_packages())
    passages = population.load_passages(options.data)
    cells = [
        cell
        for size in options.extra["sizes"]
        for cell in _measure_size(size, passages, options)
    ]
    folders = corpora.collection_folders(options.data)
    collections = [corpora.load_collection(folder) for folder in folders]
    return {
        "cells": cells,
        "ndcg": {each.name: _measure_quality(each, options) for each in collections},
        "queries": options.extra["queries"],
        "missing": missing_packages(),
    }


def missing_packages() -> list[str]:
    """Say which packages are missing, and how to install them."""
    packages = {each.package for each in SYSTEMS if not each.is_installed}
    return [
        f"{package} is not installed and not measured. To install it: "
        f"python -m pip install -r {REQUIREMENTS}"
        for package in sorted(packages)
    ]


def _installed_systems() -> list[ComparedSystem]:
    return [each for each in SYSTEMS if each.is_installed]


def _measure_size(
    size: int, passages: Passages, options: BenchmarkOptions
) -> Iterator[dict[str, Any]]:
    with temp_project.create_project(f"peers {size}", keep=options.keep) as project:
        bar = ProgressBar(f"{size:,} rows", size)
        population.fill_project(project, size, passages, bar.show)
        temp_project.refresh_statistics(project)
        temp_project.maintain_indexes()
        rows = search_system.load_rows(project, TAG)
        queries = _choose_queries(passages, options.extra["queries"])
        systems = _installed_systems()
        bar = ProgressBar(f"{size:,} rows: systems", len(systems))
        for compared in bar.over(systems):
            with compared.open(project, rows) as system:
                yield from _measure_system(compared.name, system, rows, queries)


def _measure_system(
    name: str, system: SearchSystem, rows: StoredRows, queries: QuerySample
) -> Iterator[dict[str, Any]]:
    bytes_a_row = round(system.bytes_on_disk() / len(rows.ids))
    for mode in system.modes:
        yield {
            "rows": len(rows.ids),
            "system": name,
            "mode": mode,
            "bytes_a_row": bytes_a_row,
            **_measure_mode(system, mode, rows, queries),
        }


def _choose_queries(passages: Passages, count: int) -> QuerySample:
    step = max(1, len(passages.queries) // (count + WARM_UP))
    texts = passages.queries[::step][: count + WARM_UP]
    queries = [search_system.embed_query(text) for text in texts]
    return QuerySample(queries[:count], queries[count:])


def _measure_mode(
    system: SearchSystem, mode: Mode, rows: StoredRows, queries: QuerySample
) -> dict[str, Any]:
    """Measure a mode without and with the filter."""
    return {
        f"{name}_{figure}": value
        for name, tag in FILTERS.items()
        for figure, value in _measure_filter(system, mode, tag, rows, queries).items()
    }


def _measure_filter(
    system: SearchSystem, mode: Mode, tag: str, rows: StoredRows, queries: QuerySample
) -> dict[str, float]:
    """Measure a mode with the filter of a tag.

    Only a semantic search has a recall: a hybrid search is right to rank rows by words too.
    """
    for query in queries.warm_up:
        system.search(query, mode, limit=DEPTH, tag=tag)
    answers = [_time_search(system, query, mode, tag) for query in queries.measured]
    spent = [ms for _, ms in answers]
    figures = {
        f"p{share}_ms": round(quality_metrics.percentile(spent, share / 100), 1)
        for share in (50, 95)
    }
    if mode == "semantic":
        recalls = [
            _recall(rows, query, tag, hits)
            for query, (hits, _) in zip(queries.measured, answers, strict=True)
        ]
        figures["recall"] = round(quality_metrics.mean(recalls), 4)
    return figures


def _time_search(
    system: SearchSystem, query: EmbeddedQuery, mode: Mode, tag: str
) -> tuple[list[str], float]:
    started = time.perf_counter()
    hits = system.search(query, mode, limit=DEPTH, tag=tag)
    return hits, (time.perf_counter() - started) * 1000


def _recall(
    rows: StoredRows, query: EmbeddedQuery, tag: str, hits: Sequence[str]
) -> float:
    """Return the share of the truly nearest memories that were found."""
    nearest = rows.nearest_memories(query.vector, DEPTH, tag)
    found = set(_memories_of(rows, hits))
    return len(nearest & found) / len(nearest) if nearest else 1.0


def _memories_of(rows: StoredRows, hits: Sequence[str]) -> list[str]:
    """Return the memory of each hit once, in order. A hit is a row or a memory."""
    memory_ids = rows.memory_of_row
    return list(dict.fromkeys(memory_ids.get(hit, hit) for hit in hits))


def _measure_quality(
    collection: JudgedCollection, options: BenchmarkOptions
) -> dict[str, float]:
    """Return nDCG@10 of each system and mode on a collection."""
    chosen = [each for each in _installed_systems() if each.on_collections]
    with temp_project.create_project(collection.name, keep=options.keep) as project:
        ids, _ = search_quality.fill_project(project, collection)
        stored = StoredCollection(
            {str(memory_id): document for memory_id, document in ids.items()},
            [query for query in collection.queries if query.grades],
            search_system.load_rows(project, TAG),
        )
        found: dict[str, float] = {}
        for compared in ProgressBar(collection.name, len(chosen)).over(chosen):
            with compared.open(project, stored.rows) as system:
                for mode in system.modes:
                    scores = [_ndcg(system, mode, q, stored) for q in stored.judged]
                    ndcg = round(quality_metrics.mean(scores), 4)
                    found[f"{compared.name}, {mode}"] = ndcg
    return found


def _ndcg(
    system: SearchSystem, mode: Mode, query: JudgedQuery, stored: StoredCollection
) -> float:
    """Return nDCG@10 of a query. The document that is the query is no hit."""
    embedded = search_system.embed_query(query.text)
    hits = system.search(embedded, mode, limit=ROWS_OF_TEN)
    ranking = [stored.documents[each] for each in _memories_of(stored.rows, hits)]
    ranking = [document for document in ranking if document != query.id]
    return quality_metrics.ndcg(ranking, query.grades, depth=search_quality.DEPTH)


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    times = "p50/p95 ms"
    yield [
        "system, mode",
        "rows",
        f"recall@{DEPTH}",
        "5 %",
        times,
        "5 %",
        "bytes a row",
    ]
    for cell in result["cells"]:
        yield [
            f"{cell['system']}, {cell['mode']}",
            f"{cell['rows']:,}",
            *(_format(cell.get(f"{name}_recall")) for name in FILTERS),
            *(f"{cell[f'{n}_p50_ms']:.1f}/{cell[f'{n}_p95_ms']:.1f}" for n in FILTERS),
            f"{cell['bytes_a_row']:,}",
        ]


def _format(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{result['queries']} queries a cell, no time contains the embedding of a query; "
        "5 %: only so many rows pass the filter"
    )
    for name in next(iter(result["ndcg"].values()), {}):
        scores = {each: scores[name] for each, scores in result["ndcg"].items()}
        listed = ", ".join(f"{each} {score:.3f}" for each, score in scores.items())
        mean = quality_metrics.mean(list(scores.values()))
        yield f"{name}: nDCG@10 {listed}; mean {mean:.3f}"
    yield from result["missing"]

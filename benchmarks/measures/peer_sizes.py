"""Recall, times and bytes of each system, with the same rows and queries."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from benchmarks.fixtures import population, temp_project
from benchmarks.fixtures.population import Passages
from benchmarks.options import BenchmarkOptions
from benchmarks.peers import search_system
from benchmarks.peers.search_system import EmbeddedQuery, SearchSystem, StoredRows
from benchmarks.peers.systems import installed_systems
from benchmarks.report import quality_metrics
from benchmarks.report.progress_bar import ProgressBar
from search.search import Mode

WARM_UP, DEPTH, SEED = 100, 20, 0
TAG = "twentieth"  # the tag of about 5 % of the rows
# The name of each filter in the results, and the tag that it asks for.
FILTERS = {"all": "", "filtered": TAG}


@dataclass(frozen=True)
class QuerySample:
    """Queries of all collections: those that are measured, and those that warm up."""

    measured: Sequence[EmbeddedQuery]
    warm_up: Sequence[EmbeddedQuery]


@dataclass(frozen=True)
class TimedHits:
    query: EmbeddedQuery
    hits: Sequence[str]
    ms: float


@dataclass(frozen=True)
class SystemMode:
    """A mode of a filled system."""

    name: str
    system: SearchSystem
    mode: Mode

    def search(self, query: EmbeddedQuery, tag: str) -> TimedHits:
        started = time.perf_counter()
        hits = self.system.search(query, self.mode, limit=DEPTH, tag=tag)
        return TimedHits(query, hits, (time.perf_counter() - started) * 1000)


def measure(options: BenchmarkOptions) -> list[dict[str, Any]]:
    """Return a cell for each size, system and mode."""
    passages = population.load_passages(options.data)
    return [
        cell
        for size in options.extra["sizes"]
        for cell in _measure_size(size, passages, options)
    ]


def _measure_size(
    size: int, passages: Passages, options: BenchmarkOptions
) -> list[dict[str, Any]]:
    with (
        temp_project.create_project(f"peers {size}", keep=options.keep) as project,
        ExitStack() as stack,
    ):
        bar = ProgressBar(f"{size:,} rows", size)
        population.fill_project(project, size, passages, bar.show)
        temp_project.refresh_statistics(project)
        temp_project.maintain_indexes()
        rows = search_system.load_rows(project, TAG)
        queries = _choose_queries(passages, options.extra["queries"])
        systems = installed_systems()
        bar = ProgressBar(f"{size:,} rows: filling", len(systems))
        filled = {
            each.name: stack.enter_context(each.open(project, rows))
            for each in bar.over(systems)
        }
        return _measure_systems(filled, rows, queries)


def _measure_systems(
    systems: Mapping[str, SearchSystem], rows: StoredRows, queries: QuerySample
) -> list[dict[str, Any]]:
    """Return a cell for each mode of each system."""
    modes = [
        SystemMode(name, system, mode)
        for name, system in systems.items()
        for mode in system.modes
    ]
    sizes = {name: system.bytes_on_disk() for name, system in systems.items()}
    cells: list[dict[str, Any]] = [
        {
            "rows": len(rows.ids),
            "system": each.name,
            "mode": each.mode,
            "bytes_a_row": round(sizes[each.name] / len(rows.ids)),
        }
        for each in modes
    ]
    for name, tag in FILTERS.items():
        answers = _search_in_turn(modes, tag, queries)
        for each, cell, given in zip(modes, cells, answers, strict=True):
            for figure, value in _figures(each.mode, tag, rows, given).items():
                cell[f"{name}_{figure}"] = value
    return cells


def _choose_queries(passages: Passages, count: int) -> QuerySample:
    step = max(1, len(passages.queries) // (count + WARM_UP))
    texts = passages.queries[::step][: count + WARM_UP]
    queries = [search_system.embed_query(text) for text in texts]
    return QuerySample(queries[:count], queries[count:])


def _search_in_turn(
    modes: Sequence[SystemMode], tag: str, queries: QuerySample
) -> list[list[TimedHits]]:
    """Return the answers of each mode.

    Each query is given to every mode in turn, so that other work of the machine slows all
    modes alike. The order is drawn for each query: a search is faster after one that has
    read the same rows, and slower after one that has filled the caches of the processor.
    """
    for query in queries.warm_up:
        for each in modes:
            each.search(query, tag)
    answers: list[list[TimedHits]] = [[] for _ in modes]
    chance = random.Random(SEED)
    for query in ProgressBar("queries", len(queries.measured)).over(queries.measured):
        for place in chance.sample(range(len(modes)), len(modes)):
            answers[place].append(modes[place].search(query, tag))
    return answers


def _figures(
    mode: Mode, tag: str, rows: StoredRows, answers: Sequence[TimedHits]
) -> dict[str, float]:
    """Return times, and the recall of a semantic search.

    A hybrid search has no recall: it is right to rank rows by words too.
    """
    spent = [answer.ms for answer in answers]
    figures = {
        f"p{share}_ms": round(quality_metrics.percentile(spent, share / 100), 1)
        for share in (50, 95)
    }
    if mode == "semantic":
        recalls = [_recall(rows, tag, answer) for answer in answers]
        figures["recall"] = round(quality_metrics.mean(recalls), 4)
    return figures


def _recall(rows: StoredRows, tag: str, answer: TimedHits) -> float:
    """Return the share of the truly nearest memories that were found."""
    nearest = rows.nearest_memories(answer.query.vector, DEPTH, tag)
    found = set(rows.memories_of(answer.hits))
    return len(nearest & found) / len(nearest) if nearest else 1.0

"""Measure search, size on disk and the building of indexes as a project grows."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.db import connection

from benchmarks.fixtures import disk_size, population, temp_project
from benchmarks.fixtures.population import Passages
from benchmarks.options import BenchmarkOptions
from benchmarks.report import bar_chart, quality_metrics
from benchmarks.report.progress_bar import ProgressBar
from common import locks
from common.caller import SYSTEM
from memories.models import Memory, MemoryVector
from memories.read import search
from projects.models import Project
from search import vector_index
from search.search import Mode

HELP = "Search times, bytes and index builds at growing sizes; a third of the texts is long."
SIZES = [10_000, 100_000, 1_000_000]
LONG_EVERY = 3  # one memory in three has 3 to 10 chunks
QUERIES, WARM_UP, LIMIT = 200, 100, 20
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
LEXEMES_INDEX = "memory_lexemes"
TABLES = tuple(model._meta.db_table for model in (Memory, MemoryVector))


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=SIZES, help="memories of the projects"
    )
    parser.add_argument("--plot", type=Path, help="draw the times as SVG to this file")


def run(options: BenchmarkOptions) -> dict[str, Any]:
    passages = population.load_passages(options.data)
    rows = [
        _measure_size(size, passages, keep=options.keep)
        for size in options.extra["sizes"]
    ]
    if options.extra["plot"]:
        options.extra["plot"].write_text(plot(rows), encoding="utf-8")
    return {"rows": rows, "queries": QUERIES}


def _measure_size(size: int, passages: Passages, *, keep: bool) -> dict[str, Any]:
    with temp_project.create_project(f"scale {size}", keep=keep) as project:
        bar = ProgressBar(f"{size:,} memories", size)
        load = _seconds(
            lambda: population.fill_project(
                project, size, passages, bar.show, long_every=LONG_EVERY
            )
        )
        temp_project.refresh_statistics(project)
        chunks = MemoryVector.objects.filter(project_id=project.pk).count()
        vectors = _seconds(lambda: _build_vectors(project, chunks))
        return {
            "memories": size,
            "chunks": chunks,
            "load_seconds": load,
            "vector_index_seconds": vectors,
            "lexeme_index_seconds": _seconds(_rebuild_lexemes),
            "bytes_a_memory": round(disk_size.vacuumed_bytes(*TABLES) / size),
            "server_mib": _server_memory(),
            **_search_times(project, passages),
        }


def _build_vectors(project: Project, chunks: int) -> None:
    """Build the vector index that a worker would build for a project of this size."""
    if chunks >= vector_index.MIN_ROWS:
        with locks.no_timeouts():
            vector_index.build(MemoryVector, project.pk)


def _rebuild_lexemes() -> None:
    with locks.no_timeouts(), connection.cursor() as cursor:
        cursor.execute(f"REINDEX INDEX {LEXEMES_INDEX}")


def _seconds(act: Any) -> float:
    started = time.perf_counter()
    act()
    return round(time.perf_counter() - started, 1)


def _server_memory() -> int:
    """Return the MiB of the server's processes; pages that they share count once."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity")
        pids = [pid for (pid,) in cursor.fetchall()]
    kilobytes = 0
    for pid in pids:
        # A process may have ended since, and another user's may not be read.
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    kilobytes += int(line.split()[1])
    return round(kilobytes / 1024)


def _search_times(project: Project, passages: Passages) -> dict[str, float]:
    found: dict[str, float] = {}
    queries = passages.queries[: QUERIES + WARM_UP]
    for mode in MODES:
        spent = [_search_ms(project, query, mode) for query in queries][WARM_UP:]
        for share in (50, 95):
            ms = quality_metrics.percentile(spent, share / 100)
            found[f"{mode}_p{share}_ms"] = round(ms, 1)
    return found


def _search_ms(project: Project, query: str, mode: Mode) -> float:
    request = search.MemorySearch(query, mode=mode, limit=LIMIT)
    started = time.perf_counter()
    search.find(project, request, SYSTEM)
    return (time.perf_counter() - started) * 1000


def plot(rows: list[dict[str, Any]]) -> str:
    bars = [
        bar_chart.ChartBar(
            f"{row['memories']:,}, {mode}",
            row[f"{mode}_p50_ms"],
            row[f"{mode}_p95_ms"],
            row[f"{mode}_p95_ms"],
        )
        for row in rows
        for mode in MODES
    ]
    legend = "milliseconds of a search in a project of so many memories: p50, p95"
    return bar_chart.draw_bars("Scale", legend, bars)


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield [
        "memories",
        "chunks",
        *(f"{mode} p50/p95 ms" for mode in MODES),
        "bytes a memory",
        "load s",
        "vector index s",
        "lexeme index s",
        "server MiB",
    ]
    for row in result["rows"]:
        yield [
            f"{row['memories']:,}",
            f"{row['chunks']:,}",
            *(f"{row[f'{m}_p50_ms']:.1f}/{row[f'{m}_p95_ms']:.1f}" for m in MODES),
            f"{row['bytes_a_memory']:,}",
            f"{row['load_seconds']:.0f}",
            f"{row['vector_index_seconds']:.0f}",
            f"{row['lexeme_index_seconds']:.0f}",
            f"{row['server_mib']:,}",
        ]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{result['queries']} queries a cell, each of them embedded anew; one memory in "
        f"{LONG_EVERY} has 3 to 10 chunks"
    )

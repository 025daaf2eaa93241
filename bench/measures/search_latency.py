"""Measure the time of searches over HTTP.

Also measure how much of this time the SQL and the embedding take.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from django.db import connection

from bench import web_server
from bench.datasets import corpora
from bench.datasets.corpora import JudgedCollection
from bench.fixtures import population
from bench.options import BenchmarkOptions
from bench.report import bar_chart, quality_metrics
from bench.report.progress_bar import ProgressBar
from bench.web_server import WebClient
from common.caller import SYSTEM
from inference.embedding import active_model
from memories.queries import Filters
from memories.read import search
from projects.models import Project
from search.search import Mode

HELP = "p50, p95, p99 of searches over HTTP, beside the same SQL called directly."
MEMORIES, SIZE, PROJECTS, QUERIES = 1_000_000, 100_000, 31, 400
COLLECTIONS = ("cacm", "til-jb")  # the collections whose queries are used
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
FILTERS: dict[str, tuple[str, ...]] = {"none": (), "half": ("half",)}
MODE_LABELS = {"none": "no filter", "half": "half pass"}
CLIENTS = (1, 8)
# The highest p95 allowed over HTTP with one client, in milliseconds
# (docs/benchmarks.md, "Latency").
MAX_P95_MS = {"keyword": 15, "semantic": 25, "hybrid": 50}
RATE = 10  # requests per second of the open loop, which does not wait for answers
# The number of searches before the first search that counts. A connection of the web
# server needs a hundred searches to map the vector index into its process.
WARM_UP_SEARCHES = 1_600
# With a stop word at its end, a query is a different text with the same lexemes. So the
# service has no cached embedding for it, and each row of the table includes the time of
# the embeddings.
STOP_WORDS = ("a", "an", "and", "are", "as", "at", "be", "by", "for", "if", "in", "is")
OPEN_LOOP_WORD = "it"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--memories", type=int, default=MEMORIES, help="in all")
    parser.add_argument(
        "--size", type=int, default=SIZE, help="of the searched project"
    )
    parser.add_argument("--projects", type=int, default=PROJECTS)
    parser.add_argument("--queries", type=int, default=QUERIES, help="of each row")
    parser.add_argument(
        "--warming",
        type=int,
        default=WARM_UP_SEARCHES,
        help="searches before those that count",
    )
    parser.add_argument("--plot", type=Path, help="draw the rows as SVG to this file")


def run(options: BenchmarkOptions) -> dict[str, Any]:
    extra = options.extra
    collections = _collections(options.data)
    with population.project_among_others(
        extra["size"],
        extra["memories"],
        extra["projects"] - 1,
        population.load_passages(options.data),
        keep=options.keep,
    ) as project:
        result = measure(project, collections, extra["queries"], extra["warming"])
    if extra["plot"]:
        extra["plot"].write_text(plot(result["rows"]), encoding="utf-8")
    return {**result, "project_size": extra["size"], "memories": extra["memories"]}


def plot(rows: Sequence[Mapping[str, Any]]) -> str:
    bars = [
        bar_chart.ChartBar(
            f"{row['mode']}, {MODE_LABELS[row['filter']]}",
            row["p50_ms"],
            row["p95_ms"],
            MAX_P95_MS[row["mode"]],
        )
        for row in rows
        if row["clients"] == 1
    ]
    legend = (
        "milliseconds over HTTP, one client: p50, p95, and the most that p95 may be"
    )
    return bar_chart.draw_bars("Search", legend, bars)


def measure(
    project: Project, collections: Sequence[JudgedCollection], most: int, warming: int
) -> dict[str, Any]:
    texts = [query.text for one in collections for query in one.queries]
    # Take queries evenly from all texts, so that each collection keeps its share.
    queries = texts[:: max(1, len(texts) // most)][:most]
    with web_server.serve(project) as client:
        _warm_up(client, texts, warming)
        rows = list(_rows(client, project, queries))
        loop = _open_loop(client, queries)
    return {"rows": rows, "open_loop": loop, "queries": len(queries)}


def _collections(data: Path) -> list[JudgedCollection]:
    folders = {folder.name: folder for folder in corpora.collection_folders(data)}
    chosen = [folders[name] for name in COLLECTIONS if name in folders]
    return [corpora.load_collection(folder) for folder in chosen or folders.values()]


def _open_loop(client: WebClient, queries: Sequence[str]) -> dict[str, Any]:
    bodies = [{"query": f"{query} {OPEN_LOOP_WORD}"} for query in queries]
    spent = client.ask_every(1 / RATE, bodies)
    return {"a_second": RATE, "mode": "hybrid", **_percentiles(spent)}


def _warm_up(client: WebClient, texts: Sequence[str], searches: int) -> None:
    queries = islice(cycle(texts), searches)
    bodies = [{"query": f"{query} {number}"} for number, query in enumerate(queries)]
    client.ask_by(max(CLIENTS), bodies)


def _rows(
    client: WebClient, project: Project, queries: Sequence[str]
) -> Iterator[dict[str, Any]]:
    words = iter(STOP_WORDS)
    bar = ProgressBar("rows", len(MODES) * len(FILTERS))
    kinds = [(mode, name) for mode in MODES for name in FILTERS]
    for mode, name in bar.over(kinds):
        fields = {"mode": mode, "tags": list(FILTERS[name])}
        filters = Filters(tags=FILTERS[name])
        direct = [
            _direct_ms(project, search.MemorySearch(query, mode=mode, filters=filters))
            for query in queries
        ]
        for clients in CLIENTS:
            word = next(words)
            bodies = [{"query": f"{query} {word}", **fields} for query in queries]
            row = {"mode": mode, "filter": name, "clients": clients}
            yield row | _measure_bodies(client, bodies, clients, direct)


def _measure_bodies(
    client: WebClient,
    bodies: Sequence[Mapping[str, Any]],
    clients: int,
    direct: Sequence[float],
) -> dict[str, Any]:
    started = time.perf_counter()
    spent = client.ask_by(clients, bodies)
    whole = time.perf_counter() - started
    direct_p50 = quality_metrics.percentile(direct, 0.5)
    return {
        **_percentiles(spent),
        "direct_p50_ms": round(direct_p50, 1),
        "ratio": round(quality_metrics.percentile(spent, 0.5) / direct_p50, 2),
        "per_second": round(len(bodies) / whole, 1),
    }


def _percentiles(spent: Sequence[float]) -> dict[str, float]:
    shares = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
    return {
        name: round(quality_metrics.percentile(spent, share), 1)
        for name, share in shares.items()
    }


def _direct_ms(project: Project, request: search.MemorySearch) -> float:
    """Return the milliseconds that only the embedding and SQL of a search take."""
    statements: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        search.find(project, request, SYSTEM)
    started = time.perf_counter()
    if request.mode != "keyword":
        active_model.get().embed([request.query])
    with connection.cursor() as cursor:
        for sql, params in statements:
            cursor.execute(sql, params)
            cursor.fetchall()
    return (time.perf_counter() - started) * 1000


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    heads = ["p50 ms", "p95 ms", "p99 ms", "direct p50", "ratio", "a second"]
    yield ["mode", "filter", "clients", *heads]
    for row in result["rows"]:
        yield [
            row["mode"],
            row["filter"],
            str(row["clients"]),
            *(f"{row[name]:.1f}" for name in ("p50_ms", "p95_ms", "p99_ms")),
            f"{row['direct_p50_ms']:.1f}",
            f"{row['ratio']:.2f}",
            f"{row['per_second']:.0f}",
        ]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{result['queries']} queries a row in a project of {result['project_size']:,}, "
        f"{result['memories']:,} memories in all; the clients run on this machine"
    )
    loop = result["open_loop"]
    yield (
        f"{loop['a_second']} requests a second, {loop['mode']}: p50 {loop['p50_ms']}, "
        f"p95 {loop['p95_ms']}, p99 {loop['p99_ms']} ms"
    )

"""How long a search takes over HTTP, and how much of that is its SQL and embedding."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from django.db import connection

from benchmarks import bars, building, caps, corpora, metrics, population, web
from benchmarks.corpora import Collection
from benchmarks.options import Options
from benchmarks.progress import Bar
from benchmarks.web import Client
from common.caller import SYSTEM
from inference import embedding
from memories import recall
from memories.queries import Filters
from projects.models import Project
from search.ranking import Mode

HELP = "p50, p95, p99 of searches over HTTP, beside the same SQL called directly."
MEMORIES, SIZE, PROJECTS, QUERIES = 1_000_000, 100_000, 31, 400
COLLECTIONS = ("cacm", "til-jb")  # whose queries are asked
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
FILTERS: dict[str, tuple[str, ...]] = {"none": (), "half": ("half",)}
CALLED = {"none": "no filter", "half": "half pass"}
CLIENTS = (1, 8)
# p95 in milliseconds over HTTP, one client (docs/benchmarks.md, "Latency").
MOST = {"keyword": 15, "semantic": 25, "hybrid": 50}
A_SECOND = 10  # requests of the open loop, whether the last is answered or not
BUILDING = 50  # queries that are asked over and over while an index is built
# Searches before the first that counts: a hundred for each connection of the web server,
# which map the vector index into its process.
WARMING = 1_600
# A stop word behind a query makes it another text with the same lexemes: each row of
# the table pays for its embeddings, which the service would remember.
STOP_WORDS = ("a", "an", "and", "are", "as", "at", "be", "by", "for", "if", "in", "is")
OF_LOOP = "it"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--memories", type=int, default=MEMORIES, help="in all")
    parser.add_argument("--size", type=int, default=SIZE, help="of the project asked")
    parser.add_argument("--projects", type=int, default=PROJECTS)
    parser.add_argument("--queries", type=int, default=QUERIES, help="of each row")
    parser.add_argument(
        "--warming", type=int, default=WARMING, help="searches before those that count"
    )
    parser.add_argument("--plot", type=Path, help="draw the rows as SVG to this file")
    parser.add_argument(
        "--building",
        action="store_true",
        help="also search while the project's vector index is built anew",
    )
    parser.add_argument(
        "--uncapped",
        action="store_true",
        help="also how much nDCG@10 the limit of candidate rows costs",
    )


def run(options: Options) -> dict[str, Any]:
    given = options.given
    asked = _collections(options.data)
    with population.among(
        given["size"],
        given["memories"],
        given["projects"] - 1,
        population.load(options.data),
        keep=options.keep,
    ) as project:
        measured = measure(project, asked, given["queries"], given["warming"])
        if given["building"]:
            texts = [query.text for one in asked for query in one.queries]
            measured["building"] = building.measure(project, texts[:BUILDING])
        if given["uncapped"]:
            measured["caps"] = [caps.measure(project, one) for one in asked]
    if given["plot"]:
        given["plot"].write_text(plot(measured["rows"]), encoding="utf-8")
    return {**measured, "project_size": given["size"], "memories": given["memories"]}


def plot(rows: Sequence[Mapping[str, Any]]) -> str:
    drawn = [
        bars.Bar(
            f"{row['mode']}, {CALLED[row['filter']]}",
            row["p50_ms"],
            row["p95_ms"],
            MOST[row["mode"]],
        )
        for row in rows
        if row["clients"] == 1
    ]
    told = "milliseconds over HTTP, one client: p50, p95, and the most that p95 may be"
    return bars.svg("Search", told, drawn)


def measure(
    project: Project, asked: Sequence[Collection], most: int, warming: int
) -> dict[str, Any]:
    texts = [query.text for one in asked for query in one.queries]
    # Of each collection as many as it has of all.
    queries = texts[:: max(1, len(texts) // most)][:most]
    with web.served(project) as client:
        _warm(client, texts, warming)
        rows = list(_rows(client, project, queries))
        loop = _open_loop(client, queries)
    return {"rows": rows, "open_loop": loop, "queries": len(queries)}


def _collections(data: Path) -> list[Collection]:
    found = {folder.name: folder for folder in corpora.folders(data)}
    chosen = [found[name] for name in COLLECTIONS if name in found]
    return [corpora.load(folder) for folder in chosen or found.values()]


def _open_loop(client: Client, queries: Sequence[str]) -> dict[str, Any]:
    bodies = [{"query": f"{query} {OF_LOOP}"} for query in queries]
    spent = client.ask_every(1 / A_SECOND, bodies)
    return {"a_second": A_SECOND, "mode": "hybrid", **_percentiles(spent)}


def _warm(client: Client, texts: Sequence[str], searches: int) -> None:
    queries = islice(cycle(texts), searches)
    bodies = [{"query": f"{query} {number}"} for number, query in enumerate(queries)]
    client.ask_by(max(CLIENTS), bodies)


def _rows(
    client: Client, project: Project, queries: Sequence[str]
) -> Iterator[dict[str, Any]]:
    words = iter(STOP_WORDS)
    bar = Bar("rows", len(MODES) * len(FILTERS))
    kinds = [(mode, name) for mode in MODES for name in FILTERS]
    for mode, name in bar.over(kinds):
        fields = {"mode": mode, "tags": list(FILTERS[name])}
        filters = Filters(tags=FILTERS[name])
        direct = [
            _direct(project, recall.Request(query, mode=mode, filters=filters))
            for query in queries
        ]
        for clients in CLIENTS:
            word = next(words)
            bodies = [{"query": f"{query} {word}", **fields} for query in queries]
            row = {"mode": mode, "filter": name, "clients": clients}
            yield row | _measured(client, bodies, clients, direct)


def _measured(
    client: Client,
    bodies: Sequence[Mapping[str, Any]],
    clients: int,
    direct: Sequence[float],
) -> dict[str, Any]:
    started = time.perf_counter()
    spent = client.ask_by(clients, bodies)
    whole = time.perf_counter() - started
    beside = metrics.percentile(direct, 0.5)
    return {
        **_percentiles(spent),
        "direct_p50_ms": round(beside, 1),
        "ratio": round(metrics.percentile(spent, 0.5) / beside, 2),
        "per_second": round(len(bodies) / whole, 1),
    }


def _percentiles(spent: Sequence[float]) -> dict[str, float]:
    shares = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
    return {
        name: round(metrics.percentile(spent, share), 1)
        for name, share in shares.items()
    }


def _direct(project: Project, request: recall.Request) -> float:
    """Milliseconds of a search's embedding and statements, and of nothing else."""
    statements: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        recall.search(project, request, SYSTEM)
    started = time.perf_counter()
    if request.mode != "keyword":
        embedding.active().embed([request.query])
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
    if "building" in result:
        yield building.remark(result["building"])
    yield from map(caps.remark, result.get("caps", ()))

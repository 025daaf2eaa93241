"""How long a search takes over HTTP, and how much of that is its SQL and embedding."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db import connection

from benchmarks import metrics, population, web
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
MEMORIES, PROJECTS, QUERIES = 1_000_000, 100, 400
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
FILTERS: dict[str, tuple[str, ...]] = {"none": (), "half": ("half",)}
CLIENTS = (1, 8)
WARMING = 20  # requests before the first that counts
# A stop word behind a query makes it another text with the same lexemes: each row of
# the table pays for its embeddings, which the service would remember.
STOP_WORDS = ("a", "an", "and", "are", "as", "at", "be", "by", "for", "if", "in", "is")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--memories", type=int, default=MEMORIES, help="in all")
    parser.add_argument("--projects", type=int, default=PROJECTS)
    parser.add_argument("--queries", type=int, default=QUERIES, help="of each row")


def run(options: Options) -> dict[str, Any]:
    given = options.given
    passages = population.load(options.data)
    queries = passages.queries[: given["queries"]]
    with population.projects(
        given["memories"], given["projects"], passages, keep=options.keep
    ) as projects:
        size = max(projects)
        with web.served(projects[size]) as client:
            _warm(client)
            rows = list(_rows(client, projects[size], queries))
    return {
        "rows": rows,
        "project_size": size,
        "memories": sum(projects),
        "queries": len(queries),
    }


def _warm(client: Client) -> None:
    for number in range(WARMING):
        client.ask({"query": f"warm {number}"})


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
    p50, p95, p99 = (metrics.percentile(spent, share) for share in (0.5, 0.95, 0.99))
    beside = metrics.percentile(direct, 0.5)
    return {
        "p50_ms": round(p50, 1),
        "p95_ms": round(p95, 1),
        "p99_ms": round(p99, 1),
        "direct_p50_ms": round(beside, 1),
        "ratio": round(p50 / beside, 2),
        "per_second": round(len(bodies) / whole, 1),
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

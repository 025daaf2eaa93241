"""Measure how long a digest and the context of a task take in a project of any size."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.fixtures import population
from benchmarks.options import BenchmarkOptions
from benchmarks.product import web_server
from benchmarks.report import quality_metrics
from benchmarks.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from context import task_context
from context.digest import assemble
from projects.models import Project

HELP = "Milliseconds of a digest, and of the context of a task."
MEMORIES, QUERIES = 100_000, 200
WARM = 20  # the first digests are not counted, because a new server opens connections
PATH = "/api/v1/context/digest"
# The sources of a usual agent: first the tagged memories, then the memories that the
# query finds.
TAGGED = {"structured": {"tags": ["two-hundredth"]}}
WAYS: dict[str, dict[str, Any]] = {
    "keyword": TAGGED,
    "keyword and semantic": {**TAGGED, "semantic": {"enabled": True}},
}
# The p95 of the function must not exceed the first limit. HTTP must not add more than
# the second limit.
MAX_MS = {"keyword": 40, "keyword and semantic": 60}
MAX_ADDED_MS = 10


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--queries", type=int, default=QUERIES)


def run(options: BenchmarkOptions) -> dict[str, Any]:
    count, query_count = options.extra["memories"], options.extra["queries"]
    passages = population.load_passages(options.data)
    queries = passages.queries[:query_count]
    with population.create_projects(count, 1, passages, keep=options.keep) as projects:
        (project,) = projects.values()
        with web_server.serve(project, PATH) as client:
            ways = {way: _measure(project, client, queries, way) for way in WAYS}
        context = _percentiles([_time_context(project, query) for query in queries])
    return {
        "memories": count,
        "queries": len(queries),
        "ways": ways,
        "context": context,
    }


def _measure(
    project: Project, client: web_server.WebClient, queries: Sequence[str], way: str
) -> dict[str, Any]:
    digests = [
        _build_digest(project, query, way)
        for query in ProgressBar(f"digest: {way}", len(queries)).over(queries)
    ]
    again = [_build_digest(project, query, way)[0] for query in queries]
    bodies = [{"query": query, "overrides": WAYS[way]} for query in queries]
    client.ask_each(bodies[:WARM])
    return {
        "function": _percentiles([ms for _, ms in digests]),
        "http": _percentiles(client.ask_each(bodies)),
        "characters": round(quality_metrics.mean([len(text) for text, _ in digests])),
        "same": sum(
            text == first for text, (first, _) in zip(again, digests, strict=True)
        ),
    }


def _build_digest(project: Project, query: str, way: str) -> tuple[str, float]:
    started = time.perf_counter()
    digest = assemble.for_agent(project, SYSTEM, query=query, overrides=WAYS[way])
    return digest.text, (time.perf_counter() - started) * 1000


def _time_context(project: Project, query: str) -> float:
    started = time.perf_counter()
    task_context.for_task(project, query, SYSTEM)
    return (time.perf_counter() - started) * 1000


def _percentiles(spent: Sequence[float]) -> list[float]:
    return [
        round(quality_metrics.percentile(spent, share), 1)
        for share in (0.5, 0.95, 0.99)
    ]


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["sources", "", "p50 ms", "p95 ms", "p99 ms"]
    for way, row in result["ways"].items():
        for path in ("function", "http"):
            yield [way, path, *map(str, row[path])]
    yield ["context of a task", "function", *map(str, result["context"])]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{result['memories']} memories, {result['queries']} queries"
    for way, row in result["ways"].items():
        direct, http = row["function"][1], row["http"][1]
        yield (
            f"{way}: p95 {direct} ms (at most {MAX_MS[way]}), HTTP adds "
            f"{http - direct:.1f} (at most {MAX_ADDED_MS}); {row['same']} of "
            f"{result['queries']} the same a second time, {row['characters']} characters"
        )

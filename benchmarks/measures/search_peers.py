"""Compare search with LanceDB, Chroma and plain pgvector: same vectors, texts and filters.

Each system has the rows of one project, and gets the vector of each query. No time contains
the embedding of a query.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.measures import peer_quality, peer_sizes
from benchmarks.measures.peer_sizes import DEPTH, FILTERS
from benchmarks.options import BenchmarkOptions
from benchmarks.peers.systems import missing_packages
from benchmarks.report import quality_metrics

HELP = "Recall, nDCG@10, milliseconds and bytes of search beside LanceDB, Chroma, pgvector."
SIZES, QUERIES = [10_000, 100_000], 200
PARTS = ("sizes", "collections")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=SIZES, help="rows of the projects"
    )
    parser.add_argument("--queries", type=int, default=QUERIES, help="of each cell")
    parser.add_argument("--only", choices=PARTS, help="measure this part only")


def run(options: BenchmarkOptions) -> dict[str, Any]:
    # The run takes long, so it says at once what it leaves out.
    sys.stderr.writelines(f"{line}\n" for line in missing_packages())
    only = options.extra["only"]
    return {
        "cells": peer_sizes.measure(options) if only != "collections" else [],
        "ndcg": peer_quality.measure(options) if only != "sizes" else {},
        "queries": options.extra["queries"],
        "missing": missing_packages(),
    }


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

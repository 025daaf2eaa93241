"""Measure how much of an exact scan's answer the semantic lane finds.

Also measure how fast the lane is.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.fixtures import population
from bench.options import BenchmarkOptions
from bench.report import bar_chart, quality_metrics
from bench.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from inference.embedding import active_model
from inference.embedding.vector import Vector
from memories.models import Memory
from memories.queries import Filters, MemoryQuerySet
from memories.read import retrieve
from projects.models import Project
from search import nearest_rows, semantic
from search.columns import partition_lexeme
from search.row_filter import RowFilter
from search.search_plan import Candidates, SearchPlan

HELP = "recall@20 of the semantic lane against an exact scan, by size and filter."
DEPTH = 20
MEMORIES, PROJECTS, QUERIES = 200_000, 100, 200
# The projects to search, by their rank in size. The largest and the smallest are always
# searched.
SIZE_RANKS = (1, 2, 3, 5, 10, 20, 50)
SELECTIVITIES: dict[float, tuple[str, ...]] = {
    1.0: (),
    **{share: (tag,) for tag, share in population.TAGS.items()},
}
MIN_RECALL = 0.99  # the least recall allowed in a cell of the table


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--memories", type=int, default=MEMORIES, help="in all")
    parser.add_argument("--projects", type=int, default=PROJECTS)
    parser.add_argument("--queries", type=int, default=QUERIES, help="of each cell")
    parser.add_argument("--plot", type=Path, help="draw the cells as SVG to this file")


def run(options: BenchmarkOptions) -> dict[str, Any]:
    extra = options.extra
    passages = population.load_passages(options.data)
    queries = _queries(passages.queries[: extra["queries"]])
    with population.create_projects(
        extra["memories"], extra["projects"], passages, keep=options.keep
    ) as projects:
        chosen_sizes = _choose_sizes(list(projects))
        bar = ProgressBar("cells", len(chosen_sizes) * len(SELECTIVITIES))
        cells = [
            _cell(projects[size], size, share, queries)
            for size, share in bar.over(
                (size, share) for size in chosen_sizes for share in SELECTIVITIES
            )
        ]
    if extra["plot"]:
        extra["plot"].write_text(plot(cells), encoding="utf-8")
    return {
        "cells": cells,
        "ef_search": semantic.ef_search(semantic.NEAREST),
        "queries": len(queries),
    }


def plot(cells: Sequence[Mapping[str, Any]]) -> str:
    bars = [
        bar_chart.ChartBar(
            f"{cell['project_size']:,}, {cell['selectivity']:.1%} pass",
            cell["p50_ms"],
            cell["p95_ms"],
        )
        for cell in cells
    ]
    legend = "milliseconds by project and filter: p50, p95"
    return bar_chart.draw_bars("Semantic lane", legend, bars)


def _queries(texts: Sequence[str]) -> list[Vector]:
    """Embed real queries. No memory contains the text of a query."""
    return [Vector(row, model=active_model.get().name) for row in _embed(texts)]


def _embed(texts: Sequence[str]) -> list[list[float]]:
    found: list[list[float]] = population.embed_texts(texts, "queries").tolist()
    return found


def _choose_sizes(sizes: Sequence[int]) -> list[int]:
    places = {*SIZE_RANKS, len(sizes)}
    return [size for place, size in enumerate(sizes, start=1) if place in places]


def _cell(
    project: Project, size: int, share: float, queries: Sequence[Vector]
) -> dict[str, Any]:
    filters = Filters(tags=SELECTIVITIES[share])
    rows = retrieve.readable_rows(project, None, filters, SYSTEM)
    answers = [_compare_answer(project, rows, vector) for vector in queries]
    spent = [answer["ms"] for answer in answers]
    return {
        "project_size": size,
        "selectivity": share,
        "recall": round(
            quality_metrics.mean([answer["recall"] for answer in answers]), 4
        ),
        "p50_ms": round(quality_metrics.percentile(spent, 0.5), 1),
        "p95_ms": round(quality_metrics.percentile(spent, 0.95), 1),
        "exact_p50_ms": round(
            quality_metrics.percentile([answer["exact_ms"] for answer in answers], 0.5),
            1,
        ),
        "by_index": round(
            quality_metrics.mean([answer["by_index"] for answer in answers]), 3
        ),
        "too_few": sum(answer["is_short"] for answer in answers),
    }


def _compare_answer(
    project: Project, rows: MemoryQuerySet, vector: Vector
) -> dict[str, Any]:
    partitions = (partition_lexeme("p", project.pk),)
    started = time.perf_counter()
    asked = SearchPlan(
        RowFilter.of(rows),
        project.pk,
        partitions,
        enough=semantic.min_candidates(DEPTH),
    )
    near = nearest_rows.add_candidates(asked, vector, Candidates())
    answered = time.perf_counter()
    exact = semantic.exact_cosines(rows, vector)
    ended = time.perf_counter()
    how = nearest_rows.describe_scan(near.probe, Memory, vector, project.pk)["how"]
    nearest = sorted(near.rows, key=lambda one: (one.cosine, one.id), reverse=True)
    found, best = [one.id for one in nearest[:DEPTH]], list(exact)[:DEPTH]
    return {
        "recall": len(set(found) & set(best)) / len(best) if best else 1.0,
        "ms": (answered - started) * 1000,
        "exact_ms": (ended - answered) * 1000,
        "by_index": how == "index",
        "is_short": near.semantic_count < min(asked.enough, len(exact)),
    }


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    heads = ["recall@20", "p50 ms", "p95 ms", "exact p50 ms", "by index", "too few"]
    yield ["project", "passing", *heads]
    for cell in result["cells"]:
        yield [
            f"{cell['project_size']:,}",
            f"{cell['selectivity']:.1%}",
            f"{cell['recall']:.4f}",
            f"{cell['p50_ms']:.1f}",
            f"{cell['p95_ms']:.1f}",
            f"{cell['exact_p50_ms']:.1f}",
            f"{cell['by_index']:.0%}",
            str(cell["too_few"]),
        ]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    worst = min(cell["recall"] for cell in result["cells"])
    yield (
        f"{result['queries']} queries a cell, ef_search {result['ef_search']}; the worst "
        f"cell has {worst:.4f} (at least {MIN_RECALL})"
    )

"""Measure what the limit of candidate rows costs.

The cost is the difference between nDCG@10 without the limit and with the limit.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

from benchmarks.datasets.corpora import JudgedCollection, JudgedQuery
from benchmarks.measures import search_quality
from benchmarks.report import quality_metrics
from benchmarks.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from memories.read import search
from projects.models import Project
from search import postings

UNLIMITED = 10**9
MAX_QUERIES = 200
LANES = ("keyword", "hybrid")


def measure(project: Project, collection: JudgedCollection) -> dict[str, Any]:
    """Write a collection among a project's other rows.

    Search the collection with the limit and without the limit.
    """
    ids, _ = search_quality.fill_project(project, collection)
    judged = [one for one in collection.queries if one.grades][:MAX_QUERIES]
    bar = ProgressBar(f"{collection.name}: uncapped", len(judged) * len(LANES))
    capped: dict[str, list[float]] = {lane: [] for lane in LANES}
    uncapped: dict[str, list[float]] = {lane: [] for lane in LANES}
    for lane in LANES:
        for query in judged:
            capped[lane].append(_ndcg(project, query, lane, ids))
            with patch.object(postings, "CANDIDATE_ROWS", UNLIMITED):
                uncapped[lane].append(_ndcg(project, query, lane, ids))
            bar.show(sum(map(len, uncapped.values())))
    return {
        "collection": collection.name,
        "queries": len(judged),
        "capped": _means(capped),
        "uncapped": _means(uncapped),
    }


def _ndcg(
    project: Project, query: JudgedQuery, lane: str, ids: Mapping[uuid.UUID, str]
) -> float:
    """Return the nDCG@10 of a query, measured as `benchmark search` measures it.

    Here the project also contains rows that nobody judged.
    """
    request = search.MemorySearch(
        query.text, limit=search_quality.DEPTH + 1, **search_quality.LANES[lane]
    )
    hits = search.find(project, request, SYSTEM).hits
    ranking = [ids.get(hit.memory.pk, "") for hit in hits]
    others = [found for found in ranking if found != query.id]
    return quality_metrics.ndcg(others, query.grades, depth=search_quality.DEPTH)


def _means(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {lane: round(quality_metrics.mean(of), 4) for lane, of in values.items()}


def remark(row: Mapping[str, Any]) -> str:
    told = (
        f"{lane} {row['capped'][lane]:.3f} (without the limit {row['uncapped'][lane]:.3f})"
        for lane in LANES
    )
    return f"{row['collection']}: nDCG@10 {', '.join(told)}"

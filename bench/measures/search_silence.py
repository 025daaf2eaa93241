"""Measure `cutoff: "auto"`: silence for queries without an answer, and what else it costs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.datasets.corpora import JudgedCollection, JudgedQuery
from bench.report import quality_metrics
from bench.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from memories.queries import Filters
from memories.read import search
from projects.models import Project

FOREIGN = 80  # queries of other collections that each collection is asked
DEPTH, LIMIT = 10, 20
SEED = 20261125


@dataclass(frozen=True)
class SilenceResult:
    """What the cut-off does to one collection.

    `ndcg_kept` is the part of nDCG@10 that stays, and `recall_kept` that of the recall at limit
    20. `precision_times` and `f1_times` are how many times precision and F1 at limit 20 rise;
    `precision` and `recall` are those with the cut-off. `answered` of `foreign` queries of other collections get a
    hit; `silent` of `unanswerable` queries of its own get none.
    """

    name: str
    ndcg_kept: float
    precision_times: float
    recall_kept: float
    f1_times: float
    precision: float
    recall: float
    foreign: int
    answered: int
    unanswerable: int
    silent: int


def foreign_queries(
    collections: Sequence[JudgedCollection], target: JudgedCollection
) -> list[JudgedQuery]:
    """Draw queries of the other collections, equally many of each."""
    others = [each for each in collections if each.name != target.name]
    chance = random.Random(f"{SEED} {target.name}")
    drawn: list[JudgedQuery] = []
    for number, other in enumerate(others):
        judged = [query for query in other.queries if query.grades]
        share = len(range(number, FOREIGN, len(others)))
        drawn += chance.sample(judged, min(share, len(judged)))
    return drawn


def measure(
    project: Project,
    collection: JudgedCollection,
    foreign: Sequence[JudgedQuery],
    ids: Mapping[Any, str],
) -> SilenceResult:
    """Ask a stored collection its own queries and foreign ones, with and without cut-off."""
    judged = [query for query in collection.queries if query.grades]
    unanswerable = [query for query in collection.queries if not query.grades]
    bar = ProgressBar(f"{collection.name}: cut-off", len(judged))
    whole, cut = [], []
    for query in bar.over(judged):
        part = Filters(tags=(query.part,) if query.part else ())
        whole.append(_quality(query, _ask(project, query, ids, filters=part)))
        found = _ask(project, query, ids, filters=part, cutoff="auto")
        cut.append(_quality(query, found))
    return SilenceResult(
        name=collection.name,
        ndcg_kept=_ratio([q.ndcg for q in cut], [q.ndcg for q in whole]),
        precision_times=_ratio(
            [q.precision for q in cut], [q.precision for q in whole]
        ),
        recall_kept=_ratio([q.recall for q in cut], [q.recall for q in whole]),
        f1_times=_ratio([q.f1 for q in cut], [q.f1 for q in whole]),
        precision=quality_metrics.mean([q.precision for q in cut]),
        recall=quality_metrics.mean([q.recall for q in cut]),
        foreign=len(foreign),
        answered=sum(bool(_ask(project, q, ids, cutoff="auto")) for q in foreign),
        unanswerable=len(unanswerable),
        silent=sum(not _ask(project, q, ids, cutoff="auto") for q in unanswerable),
    )


@dataclass(frozen=True)
class _Quality:
    ndcg: float
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def _ask(
    project: Project, query: JudgedQuery, ids: Mapping[Any, str], **fields: Any
) -> list[str]:
    """Return the corpus ids of the hits, without the document that is the query."""
    request = search.MemorySearch(query.text, limit=LIMIT + 1, **fields)
    found = [ids[hit.memory.pk] for hit in search.find(project, request, SYSTEM).hits]
    return [each for each in found if each != query.id][:LIMIT]


def _quality(query: JudgedQuery, found: Sequence[str]) -> _Quality:
    right = sum(document in query.grades for document in found)
    return _Quality(
        quality_metrics.ndcg(list(found), query.grades, depth=DEPTH),
        right / len(found) if found else 0.0,
        right / len(query.grades),
    )


def _ratio(cut: Sequence[float], whole: Sequence[float]) -> float:
    before = quality_metrics.mean(list(whole))
    return quality_metrics.mean(list(cut)) / before if before else 0.0


def lines(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each collection, and one for the foreign queries of all."""
    for row in results:
        yield (
            f"{row['name']}: with cutoff auto {row['ndcg_kept']:.2f} of nDCG@10 stays, "
            f"precision at 20 is {row['precision_times']:.1f} times as high "
            f"({row['precision']:.2f}), {row['recall_kept']:.2f} of the recall stays "
            f"({row['recall']:.2f}), F1 is {row['f1_times']:.2f} times as high; "
            f"{row['answered']} of {row['foreign']} foreign queries get a hit; "
            f"{row['silent']} of {row['unanswerable']} queries without an answer get none"
        )
    asked = sum(row["foreign"] for row in results)
    if asked:
        answered = sum(row["answered"] for row in results)
        yield f"{answered} of {asked} foreign queries get a hit: {answered / asked:.1%}"

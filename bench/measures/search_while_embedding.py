"""Measure a search while its rows are still being embedded, beside a search by words alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.datasets.corpora import JudgedCollection
from memories.models import MemoryVector
from projects.models import Project

SHARES = (0.9, 0.75, 0.5, 0.25, 0.1)
SEED = 20261127

# Returns nDCG@10 of a lane over all queries.
LaneMeasure = Callable[[str], float]


@dataclass(frozen=True)
class PartialResult:
    """nDCG@10 with a share of the vectors, and of words alone."""

    name: str
    share: float
    keyword: float
    hybrid: float


def measure(
    project: Project,
    collection: JudgedCollection,
    ids: Mapping[Any, str],
    lane: LaneMeasure,
) -> list[PartialResult]:
    """Take away more and more of the vectors; they are gone afterwards."""
    order = sorted(ids, key=str)
    random.Random(SEED).shuffle(order)
    keyword = round(lane("keyword"), 4)
    results = []
    for share in SHARES:
        without = order[round(share * len(order)) :]
        MemoryVector.objects.filter(project_id=project.pk, memory__in=without).delete()
        hybrid = round(lane("hybrid"), 4)
        results.append(PartialResult(collection.name, share, keyword, hybrid))
    return results


def lines(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in results:
        yield (
            f"{row['name']} with {row['share']:.0%} of the vectors: "
            f"hybrid {row['hybrid']:.3f}, words alone {row['keyword']:.3f}"
        )

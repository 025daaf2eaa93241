"""Metrics of rankings and of times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def ndcg(ranking: Sequence[str], grades: Mapping[str, float], *, depth: int) -> float:
    """Normalised discounted cumulative gain of the first `depth` ids.

    The gain of a document is 2^grade - 1 (Burges and others 2005), the discount
    log2(rank + 1), and the best ranking of the judged documents is 1.
    """
    best = dcg(sorted(grades.values(), reverse=True)[:depth])
    return (
        dcg([grades.get(document, 0) for document in ranking[:depth]]) / best
        if best
        else 0
    )


def dcg(grades: Sequence[float]) -> float:
    return sum(
        (2**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1)
    )


def recall(ranking: Sequence[str], grades: Mapping[str, float]) -> float:
    """Return the share of the judged documents that a ranking contains."""
    return len(grades.keys() & set(ranking)) / len(grades) if grades else 0


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else 0


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0

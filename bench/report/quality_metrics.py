"""Metrics of rankings and of times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

RESAMPLES, SEED = 2_000, 0


def ndcg(ranking: Sequence[str], grades: Mapping[str, float], *, depth: int) -> float:
    """Return the normalised discounted cumulative gain of the first `depth` ids.

    The gain of a document is 2^grade - 1 (Burges and others 2005). The discount is
    log2(rank + 1). The best ranking of the judged documents has the value 1.
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
    """Return the share of the judged documents that the ranking contains."""
    return len(grades.keys() & set(ranking)) / len(grades) if grades else 0


def bootstrap_interval(differences: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of paired differences, by resampling the pairs."""
    if not differences:
        return 0.0, 0.0
    numbers = np.asarray(differences, dtype=float)
    rng = np.random.default_rng(SEED)
    places = rng.integers(0, len(numbers), (RESAMPLES, len(numbers)))
    low, high = np.percentile(numbers[places].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile of the values.

    It is the smallest of the values for which at least this share of the values is not
    greater.
    """
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else 0


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0

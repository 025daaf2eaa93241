"""Say which hits answer a query, and which are only the nearest rows: docs/ranking.md, "Cut-off".

The constants were measured with queries that were asked of collections of another kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# A hit answers the query if its evidence is at least this.
EVIDENCE = 0.51
# What the words add to the cosine: this part of their share of the greatest possible score.
WORDS_ADD = 0.15
# Words alone are evidence enough from this share on, and a smaller one if no vector was
# searched.
WORDS_ALONE = 0.65
WORDS_WITHOUT_VECTOR = 0.36
# If a hit has evidence, so have the hits whose place in the order is nearly as good.
NEAR_BEST = 0.7
# Evidence is looked for among this many hits.
FIRST_HITS = 20


class HitSignals(NamedTuple):
    """What the lanes say of a hit.

    `share` is its part of the greatest possible BM25 score, `cosine` its similarity, None if
    the query or the row has no vector, and `score` its fused score.
    """

    share: float
    cosine: float | None
    score: float


def find_relevant(hits: Sequence[HitSignals]) -> list[bool]:
    """For each hit, in order, return whether it answers the query."""
    evident = [_has_evidence(hit) for hit in hits]
    if not any(evident[:FIRST_HITS]):
        return [False] * len(hits)
    best = max((hit.score for hit in hits), default=0.0)
    # A fused score is a root (`search.fuse`); squared, it is the share of the best.
    return [
        is_evident or hit.score**2 >= NEAR_BEST * best**2
        for hit, is_evident in zip(hits, evident, strict=True)
    ]


def _has_evidence(hit: HitSignals) -> bool:
    if hit.cosine is None:
        return hit.share >= WORDS_WITHOUT_VECTOR
    return hit.share >= WORDS_ALONE or hit.cosine + WORDS_ADD * hit.share >= EVIDENCE

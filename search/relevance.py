"""Say which hits answer a query, and which are only the nearest rows: docs/ranking.md, "Cut-off".

The constants were measured with queries that were asked of collections of another kind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

# A hit among MANY_ROWS or more answers the query if its evidence is at least EVIDENCE. The
# best of fewer rows comes near by chance less often, so it needs less: by LESS_EVIDENCE for
# each tenth part.
EVIDENCE = 0.555
MANY_ROWS = 2_500
LESS_EVIDENCE = 0.057
# A long query says much that no answer repeats.
LONG_EVIDENCE = 0.4
# What the words add to the cosine: this part of their share of the greatest possible score.
WORDS_ADD = 0.2
# Words alone are evidence enough from this share on, and a smaller one if no vector was
# searched.
WORDS_ALONE = 0.65
WORDS_WITHOUT_VECTOR = 0.36
# If a hit has evidence, the hits are relevant whose place in the order is nearly as good as
# that of the best.
NEAR_BEST = 0.6
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


def least_evidence(rows: int, *, is_long: bool) -> float:
    """Return the evidence that answers a query among a number of rows."""
    tenths = math.log10(MANY_ROWS / max(1, min(rows, MANY_ROWS)))
    least = EVIDENCE - LESS_EVIDENCE * tenths
    return min(least, LONG_EVIDENCE) if is_long else least


def find_relevant(hits: Sequence[HitSignals], least: float) -> list[bool]:
    """For each hit, in order, return whether it answers the query; `least` is the evidence."""
    if not any(_has_evidence(hit, least) for hit in hits[:FIRST_HITS]):
        return [False] * len(hits)
    best = max(hit.score for hit in hits)
    # A fused score is a root (`search.fuse`); squared, it is the share of the best.
    return [hit.score**2 >= NEAR_BEST * best**2 for hit in hits]


def _has_evidence(hit: HitSignals, least: float) -> bool:
    if hit.cosine is None:
        return hit.share >= WORDS_WITHOUT_VECTOR
    return hit.share >= WORDS_ALONE or hit.cosine + WORDS_ADD * hit.share >= least

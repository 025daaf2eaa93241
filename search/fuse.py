"""Fuse the scores of two lanes into one: docs/ranking.md, "Fusion"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fusion = Literal["relative", "rrf"]

RRF_K = 60  # Cormack, Clarke and Büttcher 2009, as requirement 003 cites it
# The keyword lane counts this much more in the order when the query has an id or a
# version: embeddings blur numbers (docs/benchmarks.md, "Conversations").
DIGIT_FACTOR = 3.0
# It counts this much more when the query has over LONG_QUERY lexemes, and less when it
# has fewer: each says a little of what is meant (docs/ranking.md, "Fusion").
LENGTH_FACTOR = 0.55 / 0.45
LONG_QUERY = 8


@dataclass(frozen=True)
class FusionWeights:
    """How the lanes are fused, and the weight of each."""

    fusion: Fusion = "relative"
    keyword: float = 0.5
    semantic: float = 0.5
    # The query names something with a digit in it: an id, a version.
    has_digit: bool = False
    lexemes: int = 0

    @property
    def order_weights(self) -> tuple[float, float]:
        """The weight of each lane in the order; both add up to 1."""
        keyword = self.keyword * (DIGIT_FACTOR if self.has_digit else 1)
        keyword *= LENGTH_FACTOR if self.lexemes > LONG_QUERY else 1 / LENGTH_FACTOR
        return _normalise(keyword, self.semantic)


@dataclass(frozen=True)
class LaneScores:
    """The scores of all candidates in each lane, in the same order: BM25 and cosine.

    0 where a lane did not find a candidate, None for a lane that did not run. Lists,
    because hashing ids again and again took longer than the arithmetic.
    """

    keyword: list[float] | None
    semantic: list[float] | None


def fuse_lanes(
    lanes: LaneScores, weights: FusionWeights, *, max_score: float
) -> list[float]:
    """Return one score in 0..1 for every candidate.

    A single lane keeps its own: the share of the greatest possible BM25 score, or
    the cosine. Fused ranks do not say how good the best candidate is, so they are
    scaled by how well any candidate fits at all: a score means the same in every
    answer, and `min_score` can empty a hopeless one.
    """
    shares = [score / max_score for score in lanes.keyword or ()]
    cosines = [max(score, 0.0) for score in lanes.semantic or ()]
    if lanes.semantic is None:
        return shares
    if lanes.keyword is None:
        return cosines
    keyword, semantic = _normalise(weights.keyword, weights.semantic)
    scale = reciprocal_ranks if weights.fusion == "rrf" else relative_scores
    scaled = zip(scale(shares), scale(cosines), strict=True)
    fits = zip(shares, cosines, strict=True)
    best = max((keyword * a + semantic * b for a, b in fits), default=0.0)
    keyword, semantic = weights.order_weights
    # The root lifts the middle of the scale, where second best answers stand.
    return [(keyword * a + semantic * b) ** 0.5 * best for a, b in scaled]


def _normalise(keyword: float, semantic: float) -> tuple[float, float]:
    total = (keyword + semantic) or 1.0
    return keyword / total, semantic / total


def relative_scores(scores: list[float]) -> list[float]:
    """Divide by the best candidate's score; 0 is a row with nothing in common.

    The lowest candidate of a small answer keeps its score: with the lowest score as 0,
    the second of two good answers would score nothing.
    """
    best = max(scores, default=0.0) or 1.0
    return [score / best for score in scores]


def reciprocal_ranks(scores: list[float]) -> list[float]:
    """(k + 1) / (k + rank): the usual 1 / (k + rank), with 1 for the first.

    Equal scores share a rank; a candidate that the lane did not find has none.
    """
    places = {score: rank for rank, score in enumerate(sorted(scores), start=1)}
    return [
        (RRF_K + 1) / (RRF_K + len(scores) + 1 - places[score]) if score else 0.0
        for score in scores
    ]

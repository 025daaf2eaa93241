"""Two lanes become one score: docs/ranking.md, "Fusion"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fusion = Literal["relative", "rrf"]

RRF_K = 60  # Cormack, Clarke and Büttcher 2009, as requirement 003 cites it
# How much more words count in the order when the query has an id or a version:
# embeddings blur numbers (docs/benchmarks.md, "Conversations").
DIGIT_FACTOR = 3.0
# How much more they count when the query has over MANY lexemes, and less when fewer:
# each says a little of what is meant (docs/ranking.md, "Fusion").
LENGTH_FACTOR = 0.55 / 0.45
LONG_QUERY = 8


@dataclass(frozen=True)
class FusionWeights:
    """How the lanes are joined, and what each of them counts."""

    fusion: Fusion = "relative"
    keyword: float = 0.5
    semantic: float = 0.5
    # The query names something that has a digit in it: an id, a version.
    has_numbered: bool = False
    lexemes: int = 0

    @property
    def in_order(self) -> tuple[float, float]:
        """What each lane counts in the order, of 1 in all."""
        words = self.keyword * (DIGIT_FACTOR if self.has_numbered else 1)
        words *= LENGTH_FACTOR if self.lexemes > LONG_QUERY else 1 / LENGTH_FACTOR
        return _normalise(words, self.semantic)


@dataclass(frozen=True)
class LaneScores:
    """What the lanes gave each candidate, in the same order: BM25 and cosine.

    0 where a lane did not find it, None for a lane that was not asked. Lists, because
    hashing ids again and again took longer than the arithmetic.
    """

    keyword: list[float] | None
    semantic: list[float] | None


def fuse_lanes(lanes: LaneScores, way: FusionWeights, *, most: float) -> list[float]:
    """One score in 0..1 for every candidate.

    A single lane keeps its own: the share of the greatest possible BM25 score, or
    the cosine. Fused ranks say nothing of how good the best one is, so they are
    scaled by how well any candidate fits at all: a score means the same in every
    answer, and `min_score` can empty a hopeless one.
    """
    shares = [score / most for score in lanes.keyword or ()]
    cosines = [max(score, 0.0) for score in lanes.semantic or ()]
    if lanes.semantic is None:
        return shares
    if lanes.keyword is None:
        return cosines
    by_keyword, by_meaning = _normalise(way.keyword, way.semantic)
    lane = reciprocal_ranks if way.fusion == "rrf" else relative_scores
    fused = zip(lane(shares), lane(cosines), strict=True)
    fits = zip(shares, cosines, strict=True)
    best = max((by_keyword * a + by_meaning * b for a, b in fits), default=0.0)
    by_keyword, by_meaning = way.in_order
    # The root lifts the middle of the scale, where second best answers stand.
    return [(by_keyword * a + by_meaning * b) ** 0.5 * best for a, b in fused]


def _normalise(keyword: float, semantic: float) -> tuple[float, float]:
    whole = (keyword + semantic) or 1.0
    return keyword / whole, semantic / whole


def relative_scores(scores: list[float]) -> list[float]:
    """The share of the best candidate's score; 0 is a row with nothing in common.

    So the lowest candidate of a small answer keeps what it has: with the minimum of
    the candidates for 0, the second of two good answers would score nothing.
    """
    best = max(scores, default=0.0) or 1.0
    return [score / best for score in scores]


def reciprocal_ranks(scores: list[float]) -> list[float]:
    """(k + 1) / (k + rank): the usual 1 / (k + rank), with 1 for the first.

    Equal scores share a rank, and what a lane did not find has none.
    """
    places = {score: rank for rank, score in enumerate(sorted(scores), start=1)}
    return [
        (RRF_K + 1) / (RRF_K + len(scores) + 1 - places[score]) if score else 0.0
        for score in scores
    ]

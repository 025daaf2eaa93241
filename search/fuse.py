"""Fuse the scores of two lanes into one: docs/ranking.md, "Fusion"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fusion = Literal["relative", "rrf"]

RRF_K = 60  # Cormack, Clarke and Büttcher 2009, as requirement 003 cites it
# In the order, the keyword lane's weight is multiplied by this factor when the query has an
# id or a version, because embeddings blur numbers.
DIGIT_FACTOR = 3.0
# The keyword lane's weight is multiplied by this factor when the query has more than
# LONG_QUERY lexemes. When the query has fewer lexemes, the weight is divided by this factor
# (docs/ranking.md, "Fusion").
LENGTH_FACTOR = 0.55 / 0.45
LONG_QUERY = 8
# While vectors are missing, the semantic lane's weight is multiplied by this power of the
# coverage: the best cosine of few rows says little.
FEW_VECTORS = 3
# If the best row has less than this share, the words of a short query say less than the
# meaning: the keyword lane's weight is multiplied by the square of the part of GOOD_SHARE.
GOOD_SHARE = 0.4
# It is not if the meaning tells the rows hardly apart: if the rows at MIDDLE have on average
# this part of the best cosine.
FLAT = 0.62
MIDDLE = slice(20, 60)


@dataclass(frozen=True)
class FusionWeights:
    """How the lanes are fused, and the weight of each."""

    fusion: Fusion = "relative"
    keyword: float = 0.5
    semantic: float = 0.5
    # Whether the query has a name with a digit, such as an id or a version.
    has_digit: bool = False
    lexemes: int = 0

    @property
    def order_weights(self) -> tuple[float, float]:
        """Return the weight of each lane in the order; the two weights add up to 1."""
        keyword = self.keyword * (DIGIT_FACTOR if self.has_digit else 1)
        keyword *= LENGTH_FACTOR if self.lexemes > LONG_QUERY else 1 / LENGTH_FACTOR
        return _normalise(keyword, self.semantic)


@dataclass(frozen=True)
class LaneScores:
    """Two lists of scores, BM25 and cosine; both have the candidates in the same order.

    A score is 0 if the lane did not find the candidate, and a cosine is None if the
    candidate has no vector. A list is None if its lane did not run. The scores are lists
    rather than dicts by id, because hashing the ids took longer than the arithmetic.
    """

    keyword: list[float] | None
    semantic: list[float | None] | None
    # The share of the candidates by words that have a vector, of those that will have one.
    coverage: float = 1.0


def fuse_lanes(
    lanes: LaneScores, weights: FusionWeights, *, max_score: float
) -> list[float]:
    """Return one score in 0..1 for every candidate.

    If only one lane ran, the score is that lane's own score: the BM25 score divided by
    the greatest possible BM25 score, or the cosine. Fused ranks do not show how good
    the best candidate is. The ranks are therefore multiplied by a measure of how well
    the best candidate fits the query. A score then means the same in every answer, and
    `min_score` can remove all hits of a query that nothing fits.

    A candidate without a vector has its keyword share in both lanes.
    """
    shares = [score / max_score for score in lanes.keyword or ()]
    if lanes.semantic is None:
        return shares
    cosines = [None if score is None else max(score, 0.0) for score in lanes.semantic]
    if lanes.keyword is None:
        return [score or 0.0 for score in cosines]
    keyword, semantic = _normalise(weights.keyword, weights.semantic)
    scale = reciprocal_ranks if weights.fusion == "rrf" else relative_scores
    fits = _sum_lanes(shares, cosines, keyword, semantic)
    best = max(fits, default=0.0)
    keyword, semantic = weights.order_weights
    known_cosines = [score for score in cosines if score is not None]
    is_short = weights.lexemes <= LONG_QUERY
    if is_short and lanes.coverage == 1 and not _is_flat(known_cosines):
        keyword *= min(1.0, max(shares) / GOOD_SHARE) ** 2
    keyword, semantic = _normalise(keyword, semantic * lanes.coverage**FEW_VECTORS)
    known = iter(scale(known_cosines))
    places = [None if score is None else next(known) for score in cosines]
    # The root raises scores in the middle of the scale, where the second-best answers
    # are.
    sums = _sum_lanes(scale(shares), places, keyword, semantic)
    return [each**0.5 * best for each in sums]


def _is_flat(cosines: list[float]) -> bool:
    ordered = sorted(cosines, reverse=True)
    middle = ordered[min(MIDDLE.start, len(ordered) // 2) : MIDDLE.stop]
    return not middle or sum(middle) >= FLAT * ordered[0] * len(middle)


def _sum_lanes(
    words: list[float], meaning: list[float | None], keyword: float, semantic: float
) -> list[float]:
    """Add the weighted scores of two lanes; without a vector, words have the whole weight."""
    return [
        a if b is None else keyword * a + semantic * b
        for a, b in zip(words, meaning, strict=True)
    ]


def _normalise(keyword: float, semantic: float) -> tuple[float, float]:
    total = (keyword + semantic) or 1.0
    return keyword / total, semantic / total


def relative_scores(scores: list[float]) -> list[float]:
    """Divide each score by the best candidate's score.

    The score 0 means that a row has nothing in common with the query. The lowest
    candidate is not moved to 0, because then the second of two good answers would have
    the score 0.
    """
    best = max(scores, default=0.0) or 1.0
    return [score / best for score in scores]


def reciprocal_ranks(scores: list[float]) -> list[float]:
    """Return (k + 1) / (k + rank) for each candidate, so that the first candidate has 1.

    Candidates with equal scores have the same rank. A candidate that the lane did not
    find has the value 0.
    """
    places = {score: rank for rank, score in enumerate(sorted(scores), start=1)}
    return [
        (RRF_K + 1) / (RRF_K + len(scores) + 1 - places[score]) if score else 0.0
        for score in scores
    ]

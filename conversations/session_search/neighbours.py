"""Raise the score of a message by the scores of the messages beside it. Pure functions.

A question and its answer, or two turns about one thing, stand side by side, and often only
one of them has the words of the query.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import NamedTuple

# Measured on dialogues (docs/ranking.md, "Messages"): the parts of the best of the two
# messages beside it, of the best of the next two, and of the mean of its session's best.
BESIDE, NEXT, SESSION = 0.3, 0.2, 0.4
BEST_OF_SESSION = 3
# Between 3 and 6, the measured recall is the same within 0.01 (docs/ranking.md, "Messages").
POWER = 4
MOST = 1 + BESIDE + NEXT + SESSION  # the score of which every part is 1


class PlacedScore(NamedTuple):
    """The fused score of a message, and its place: session and seq."""

    session: Hashable
    seq: int
    score: float


def add_neighbours(scores: Iterable[PlacedScore]) -> list[float]:
    """Return the new score of each message in 0..1, in the order of the input.

    A message that is no candidate counts as 0.
    """
    every = _sharpen(scores)
    by_place = {(each.session, each.seq): each.score for each in every}
    of_session: dict[Hashable, list[float]] = defaultdict(list)
    for each in every:
        of_session[each.session].append(each.score)
    means = {session: _mean_of_best(found) for session, found in of_session.items()}

    def best_at(each: PlacedScore, distance: int) -> float:
        places = (each.seq - distance, each.seq + distance)
        return max(by_place.get((each.session, seq), 0.0) for seq in places)

    return [
        (
            each.score
            + BESIDE * best_at(each, 1)
            + NEXT * best_at(each, 2)
            + SESSION * means[each.session]
        )
        / MOST
        for each in every
    ]


def _sharpen(scores: Iterable[PlacedScore]) -> list[PlacedScore]:
    """Lower the scores of poor candidates; the best score stays.

    Poor candidates are everywhere, so that without this every message would gain alike.
    """
    every = list(scores)
    best = max((each.score for each in every), default=0.0) or 1.0
    return [each._replace(score=best * (each.score / best) ** POWER) for each in every]


def _mean_of_best(scores: list[float]) -> float:
    best = sorted(scores, reverse=True)[:BEST_OF_SESSION]
    return sum(best) / BEST_OF_SESSION

"""Compare what happened in sessions with and without a rule: two means and their difference.

Several rules of one session are no independent witnesses, so that the session is the unit of
the variance: the linearised estimator for the ratio of two sums over clusters (Cochran, Sampling
Techniques, 3rd edition, section 6.4; Cameron and Miller, A Practitioner's Guide to
Cluster-Robust Inference, 2015, section II).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z = 1.96  # of a 95 % interval
MIN_SESSIONS = 10  # in each group, below which an interval says nothing


@dataclass(frozen=True)
class SessionOutcome:
    """What was counted in a session, and how many rules it was given and went without."""

    value: float
    given: int
    withheld: int


@dataclass(frozen=True)
class Effect:
    """The means of the sessions with and without, weighted by the rules of each.

    `low` and `high` are the ends of the 95 % interval of `given` minus `withheld`; they are
    None where too few sessions went with or without.
    """

    given: float
    withheld: float
    sessions_given: int
    sessions_withheld: int
    low: float | None = None
    high: float | None = None

    @property
    def is_found(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)  # fmt: skip


def estimate(outcomes: Sequence[SessionOutcome]) -> Effect:
    given = _mean([(each.value, each.given) for each in outcomes])
    withheld = _mean([(each.value, each.withheld) for each in outcomes])
    with_rules = sum(each.given > 0 for each in outcomes)
    without = sum(each.withheld > 0 for each in outcomes)
    found = Effect(given, withheld, with_rules, without)
    if min(with_rules, without) < MIN_SESSIONS:
        return found
    all_given = sum(each.given for each in outcomes)
    all_withheld = sum(each.withheld for each in outcomes)
    # What each session adds to the difference of the means.
    parts = [
        each.given * (each.value - given) / all_given
        - each.withheld * (each.value - withheld) / all_withheld
        for each in outcomes
    ]
    # The smaller group decides how little is known.
    scale = without / (without - 1)
    half = Z * math.sqrt(scale * sum(part * part for part in parts))
    difference = given - withheld
    return Effect(
        given, withheld, with_rules, without, difference - half, difference + half
    )


def _mean(pairs: Sequence[tuple[float, int]]) -> float:
    weight = sum(count for _, count in pairs)
    return sum(value * count for value, count in pairs) / weight if weight else 0.0

"""Measure how the cost of a function grows with the length of a text.

The cost is the time of the process on the CPU, the least of several runs, so that other
processes do not matter. A cost below `FLOOR` at the length `LONG` is not looked at. A
quadratic one is above it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from math import inf
from time import thread_time

LENGTHS = (4_096, 16_384)
LONG = LENGTHS[0]
STEP = 8
# Linear growth makes eightfold, quadratic growth 64-fold of it. This is in the middle.
MOST = STEP**1.5
FLOOR = 0.0004
# A cost that needs no second run: other processes disturb short runs most.
ENOUGH = 0.2
# What looks too dear is measured again: another process may have shared the core.
ATTEMPTS = 2
# A run ends here; its cost is infinite.
LIMIT = 2.0


class TooLong(Exception):
    pass


def growth(
    work: Callable[[str], object], text: Callable[[int], str], floor: float = FLOOR
) -> float:
    """Return the growth of the cost for a text that is `STEP` times as long.

    Growth up to a limit, such as that of `a{1,500}b`, ends at greater lengths. So the
    growth is above `MOST` only if it is at each length, at each attempt.
    """
    if (least := cost(work, text(LONG // STEP))) == inf:
        return inf
    if least < floor and cost(work, text(LONG)) < floor:
        return 0.0
    ratio = inf
    for length in LENGTHS * ATTEMPTS:
        ratio = min(ratio, _ratio(work, text(length // STEP), text(length)))
        if ratio <= MOST:
            break
    return ratio


def _ratio(work: Callable[[str], object], short: str, long: str) -> float:
    """Return the ratio of the costs of two texts."""
    least_short, least_long = inf, inf
    for _ in range(4):
        least_short = min(least_short, cost(work, short), cost(work, short))
        least_long = min(least_long, cost(work, long))
        if least_long > ENOUGH or least_long < MOST * least_short:
            break
    return least_long / max(least_short, 1e-6)


def cost(work: Callable[[str], object], text: str) -> float:
    """Return the seconds on the CPU, or infinity after `LIMIT`."""
    before = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    began = thread_time()
    try:
        work(text)
        return thread_time() - began
    except TooLong:
        return inf
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _stop(number: int, frame: object) -> None:
    raise TooLong

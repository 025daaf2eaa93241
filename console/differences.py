"""The difference of two texts as pages show it: word by word, within bounds."""

from __future__ import annotations

from dataclasses import dataclass

from common import rewording
from common.rewording import Part

# Characters of a text that are compared and shown.
SHOWN = 4_000
# Pairs of equal words that are compared: a page shows many texts.
MOST_PAIRS = 10_000


@dataclass(frozen=True)
class Difference:
    """`rest` is how many characters of the longer text are not shown."""

    parts: list[Part]
    rest: int = 0


def between(before: str, after: str) -> Difference:
    rest = max(len(before), len(after)) - SHOWN
    parts = rewording.words(before[:SHOWN], after[:SHOWN], most_pairs=MOST_PAIRS)
    return Difference(parts, max(rest, 0))

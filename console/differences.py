"""The difference of two texts as pages show it: word by word, within bounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from playbook import comparing
from playbook.comparing import WORDS, Part

# Characters of a text that are compared and shown.
SHOWN = 4_000
# Comparing takes a step for each pair of equal words: a text of one word repeated has
# millions of them.
MOST_PAIRS = 10_000


@dataclass(frozen=True)
class Difference:
    """`rest` is how many characters of the longer text are not shown."""

    parts: list[Part]
    rest: int = 0


def between(before: str, after: str) -> Difference:
    rest = max(len(before), len(after)) - SHOWN
    return Difference(_parts(before[:SHOWN], after[:SHOWN]), max(rest, 0))


def _parts(before: str, after: str) -> list[Part]:
    if before == after:
        return [Part("same", after)] if after else []
    if _pairs(before, after) <= MOST_PAIRS:
        return comparing.words(before, after)
    return [Part("removed", before), Part("added", after)]


def _pairs(before: str, after: str) -> int:
    old, new = (Counter(map(str.strip, WORDS.findall(t))) for t in (before, after))
    return sum(count * new[word] for word, count in old.items())

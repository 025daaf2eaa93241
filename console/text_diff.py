"""The difference of two texts as pages show it: word by word, within bounds."""

from __future__ import annotations

from dataclasses import dataclass

from common.text import word_diff
from common.text.word_diff import DiffPart

# Characters of a text that are compared and shown.
MAX_CHARACTERS = 4_000
# Pairs of equal words that are compared: a page shows many texts.
MAX_PAIRS = 10_000


@dataclass(frozen=True)
class TextDiff:
    """`rest` is how many characters of the longer text are not shown."""

    parts: list[DiffPart]
    rest: int = 0


def compare(before: str, after: str) -> TextDiff:
    rest = max(len(before), len(after)) - MAX_CHARACTERS
    parts = word_diff.diff_words(
        before[:MAX_CHARACTERS], after[:MAX_CHARACTERS], max_pairs=MAX_PAIRS
    )
    return TextDiff(parts, max(rest, 0))

"""Compare two texts word by word for a page, within bounds."""

from __future__ import annotations

from dataclasses import dataclass

from common.text import word_diff
from common.text.word_diff import DiffPart

# Of each text; the page says how many more there are.
MAX_CHARACTERS = 4_000
# Pairs of equal words that one comparison looks at: a page compares many texts.
MAX_PAIRS = 10_000


@dataclass(frozen=True)
class TextDiff:
    """`rest` is the number of characters of the longer text that are left out."""

    parts: list[DiffPart]
    rest: int = 0


def compare(before: str, after: str) -> TextDiff:
    rest = max(len(before), len(after)) - MAX_CHARACTERS
    parts = word_diff.diff_words(
        before[:MAX_CHARACTERS], after[:MAX_CHARACTERS], max_pairs=MAX_PAIRS
    )
    return TextDiff(parts, max(rest, 0))

"""Compare two texts word by word for a page, with limits on length and effort."""

from __future__ import annotations

from dataclasses import dataclass

from common.text import word_diff
from common.text.word_diff import DiffPart

# Only this many characters of each text are compared. The page says how many are left
# out.
MAX_CHARACTERS = 4_000
# One comparison looks at no more than this many pairs of equal words, because a page
# compares many texts.
MAX_PAIRS = 10_000


@dataclass(frozen=True)
class TextDiff:
    """The differences between two texts.

    `rest` is the number of characters that were left out of the longer text.
    """

    parts: list[DiffPart]
    rest: int = 0


def compare(before: str, after: str) -> TextDiff:
    rest = max(len(before), len(after)) - MAX_CHARACTERS
    parts = word_diff.diff_words(
        before[:MAX_CHARACTERS], after[:MAX_CHARACTERS], max_pairs=MAX_PAIRS
    )
    return TextDiff(parts, max(rest, 0))

"""Compare two texts word by word."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

# Each match is a word with the whitespace after the word. All matches joined are the text.
WORDS = re.compile(r"\A\s+|\S+\s*")
# A comparison takes a step for each pair of equal words. Texts that repeat one word have
# millions of pairs; beyond this number the whole text counts as replaced.
MAX_PAIRS = 20_000
CONTEXT_CHARACTERS = 120  # unchanged characters on either side of a change


@dataclass(frozen=True)
class DiffPart:
    """A run of words that is in both texts, only in the older text or only in the newer one."""

    kind: Literal["same", "removed", "added"]
    text: str


def diff_words(
    before: str, after: str, *, max_pairs: int = MAX_PAIRS
) -> list[DiffPart]:
    """Return the difference of two texts as runs of words."""
    if before == after:
        return [DiffPart("same", after)] if after else []
    old, new = WORDS.findall(before), WORDS.findall(after)
    if _count_pairs(old, new) > max_pairs:
        return [DiffPart("removed", before), DiffPart("added", after)]
    parts: list[DiffPart] = []
    for kind, start, end, new_start, new_end in match_words(old, new):
        if kind == "equal":
            parts.append(DiffPart("same", "".join(new[new_start:new_end])))
            continue
        if end > start:
            parts.append(DiffPart("removed", "".join(old[start:end])))
        if new_end > new_start:
            parts.append(DiffPart("added", "".join(new[new_start:new_end])))
    return parts


def _count_pairs(old: Sequence[str], new: Sequence[str]) -> int:
    counts = (Counter(word.strip() for word in words) for words in (old, new))
    first, last = counts
    return sum(count * last[word] for word, count in first.items())


def match_words(
    old: Sequence[str], new: Sequence[str]
) -> Sequence[tuple[str, int, int, int, int]]:
    """Return `SequenceMatcher.get_opcodes` of words, ignoring the whitespace after them."""
    matcher = difflib.SequenceMatcher(
        None, [w.strip() for w in old], [w.strip() for w in new], autojunk=False
    )
    return matcher.get_opcodes()


def excerpt(parts: Iterable[DiffPart], limit: int) -> Iterator[DiffPart]:
    """Shorten a difference to the changes and a little text around them, up to `limit`."""
    for part in parts:
        if limit <= 0:
            yield DiffPart("same", " …")
            return
        text = _omit_middle(part.text) if part.kind == "same" else part.text
        yield DiffPart(part.kind, text[:limit])
        limit -= len(text)


def _omit_middle(text: str) -> str:
    if len(text) <= 3 * CONTEXT_CHARACTERS:
        return text
    return f"{text[:CONTEXT_CHARACTERS]} … {text[-CONTEXT_CHARACTERS:]}"

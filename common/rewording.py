"""The difference of two texts, word by word."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

# Words with the blanks after them: joined they are the text again.
WORDS = re.compile(r"\A\s+|\S+\s*")
# Comparing takes a step for each pair of equal words: a text of one word repeated has
# millions of them, and is then told as replaced.
MOST_PAIRS = 20_000
AROUND = 120  # characters of what stayed, kept at either side of what changed


@dataclass(frozen=True)
class Part:
    """A run of words: in both texts, or only in the older or the newer one."""

    kind: Literal["same", "removed", "added"]
    text: str


def words(before: str, after: str, *, most_pairs: int = MOST_PAIRS) -> list[Part]:
    """The difference of two texts, word by word."""
    if before == after:
        return [Part("same", after)] if after else []
    old, new = WORDS.findall(before), WORDS.findall(after)
    if _pairs(old, new) > most_pairs:
        return [Part("removed", before), Part("added", after)]
    parts: list[Part] = []
    for kind, start, end, new_start, new_end in matched(old, new):
        if kind == "equal":
            parts.append(Part("same", "".join(new[new_start:new_end])))
            continue
        if end > start:
            parts.append(Part("removed", "".join(old[start:end])))
        if new_end > new_start:
            parts.append(Part("added", "".join(new[new_start:new_end])))
    return parts


def _pairs(old: Sequence[str], new: Sequence[str]) -> int:
    counts = (Counter(word.strip() for word in words) for words in (old, new))
    first, last = counts
    return sum(count * last[word] for word, count in first.items())


def matched(
    old: Sequence[str], new: Sequence[str]
) -> Sequence[tuple[str, int, int, int, int]]:
    """`SequenceMatcher.get_opcodes` over words; the blanks after them do not count."""
    matcher = difflib.SequenceMatcher(
        None, [w.strip() for w in old], [w.strip() for w in new], autojunk=False
    )
    return matcher.get_opcodes()


def excerpt(parts: Iterable[Part], limit: int) -> Iterator[Part]:
    """What changed with a little of what stands around it, cut after `limit`."""
    for part in parts:
        if limit <= 0:
            yield Part("same", " …")
            return
        text = _middle_left_out(part.text) if part.kind == "same" else part.text
        yield Part(part.kind, text[:limit])
        limit -= len(text)


def _middle_left_out(text: str) -> str:
    if len(text) <= 3 * AROUND:
        return text
    return f"{text[:AROUND]} … {text[-AROUND:]}"

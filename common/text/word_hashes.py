"""Split text and code into words, and hash words, to count what two texts have in common."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

MAX_TEXT = 20_000  # characters that are read
MIN_STEM = 5  # characters of a word that may lose its ending

_WORD = re.compile(r"[^\W_]{2,40}")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_ENDING = re.compile(r"(?:ing|ed|es|s)$")
# Words that nearly every request has.
_COMMON = frozenset(
    (Path(__file__).parent / "common_words.txt").read_text(encoding="utf-8").split()
)


def split(text: str) -> Iterator[str]:
    """Yield the words of a text in order, and the parts of names such as `parseToken`."""
    for word in _WORD.findall(text[:MAX_TEXT]):
        yield from _keep(word)
        parts = _PART.findall(word)
        if len(parts) > 1:
            for part in parts:
                yield from _keep(part)


def hash_word(word: str) -> int:
    """Return a signed number of 32 bits, which a column of integers can store."""
    return zlib.crc32(word.encode("utf-8", "replace")) - 2**31


def _keep(word: str) -> Iterator[str]:
    low = word.casefold()
    if len(low) > 1 and low not in _COMMON:
        yield _ENDING.sub("", low) if len(low) >= MIN_STEM else low

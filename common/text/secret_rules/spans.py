"""A part of a text that is a secret, and measures of how random a text looks."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Span:
    start: int
    end: int
    kind: str


_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
MIN_LETTERS, MAX_PART = 20, 3
_CAMEL_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]")
_HAS_DIGIT = re.compile(r"[0-9]")
_HAS_LETTER = re.compile(r"[A-Za-z]")
_WORD_LIKE = re.compile(
    r"(?:[A-Z]?[a-z]{2,}|[A-Z]{2,}|[A-Z]?[a-z]{2,}[0-9]{1,2}|[0-9]{1,4}|[a-z]"
    r"|[a-z]*(?:[A-Z]{1,5}[a-z]{2,}){2,8}[A-Z]{0,5}[0-9]{0,2}|[a-z]+[A-Z]{1,5}[a-z]{2,}[0-9]{0,2})"
)
# No word has so many consonants in a row.
_UNSPEAKABLE = re.compile(r"[bcdfghjklmnpqrstvwxz]{6}")


def entropy(value: str) -> float:
    """Return the bits of one character, from how often each character occurs."""
    total = len(value)
    counts = Counter(value).values()
    return -sum(n / total * math.log2(n / total) for n in counts)


def has_digit(value: str) -> bool:
    return bool(_HAS_DIGIT.search(value))


def has_letter(value: str) -> bool:
    return bool(_HAS_LETTER.search(value))


def is_slug(value: str) -> bool:
    """Return whether a text is words and short numbers with separators between them."""
    parts = [part for part in _SEPARATORS.split(value) if part]
    return bool(parts) and all(map(_is_word_like, parts))


def _is_word_like(part: str) -> bool:
    return bool(_WORD_LIKE.fullmatch(part)) and not _UNSPEAKABLE.search(part)


@lru_cache(maxsize=4096)
def is_random(value: str, *, least: int = 16) -> bool:
    """Return whether a text looks drawn at random: long, mixed, and no words."""
    if len(value) < least or entropy(value) < 2.8:
        return False
    if has_digit(value):
        return has_letter(value) and not is_slug(value)
    return _has_random_capitals(value)


def _has_random_capitals(value: str) -> bool:
    """Return whether letters change between small and capital as in no name.

    The parts of a name in camel case have more letters.
    """
    return (
        len(value) >= MIN_LETTERS
        and value.isalpha()
        and not value.isupper()
        and len(_CAMEL_PART.findall(value)) * MAX_PART > len(value)
    )

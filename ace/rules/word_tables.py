"""Long lists of words, written as text."""

from __future__ import annotations


def split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())

"""Long lists of words, written as text."""

from __future__ import annotations


def listed(text: str) -> frozenset[str]:
    return frozenset(text.split())

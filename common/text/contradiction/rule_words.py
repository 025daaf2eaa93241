"""Load the word tables of `rule_clauses` and `rule_opposition`, one group on each line.

`/` separates the sides of a choice.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from common.text.contradiction.stems import stem
from common.text.text_tables import read_lines

FOLDER = Path(__file__).parent / "words"


def _lines(name: str) -> list[str]:
    return read_lines(FOLDER / f"{name}.txt")


@cache
def stems_of(name: str) -> frozenset[str]:
    """Return the stems of a table."""
    fold = synonyms()
    roots = (stem(word) for line in _lines(name) for word in line.split())
    return frozenset(fold.get(root, root) for root in roots)


@cache
def sides_of(name: str) -> dict[str, frozenset[tuple[int, int]]]:
    """Map each stem to the choices that it belongs to, each with the side that it takes."""
    found: dict[str, set[tuple[int, int]]] = {}
    fold = synonyms()
    for number, line in enumerate(_lines(name)):
        for side, words in enumerate(line.split("/")):
            for word in words.split():
                root = stem(word)
                found.setdefault(fold.get(root, root), set()).add((number, side))
    return {word: frozenset(sides) for word, sides in found.items()}


@cache
def synonyms() -> dict[str, str]:
    """Map each stem to the stem that stands for its group."""
    found: dict[str, str] = {}
    for line in _lines("synonyms"):
        first, *others = (stem(word) for word in line.split())
        for word in (first, *others):
            found.setdefault(word, first)
    return found


@cache
def compounds() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return patterns of phrases with one meaning, each with the word that replaces it."""
    pairs = (line.rpartition(": ") for line in _lines("compounds"))
    return tuple((re.compile(rf"\b(?:{phrase})\b"), word) for phrase, _, word in pairs)


@cache
def phrases(name: str) -> re.Pattern[str]:
    """Return a pattern of the phrases of a table, longest alternatives first."""
    return re.compile(rf"\b(?:{'|'.join(_lines(name))})\b")

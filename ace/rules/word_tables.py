"""Load the word tables in `ace/rules/words`: a word a line, in UTF-8.

A line `word: value` gives the word a value; the value of a bare word is the word itself.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "words"


def read(name: str) -> frozenset[str]:
    """Return the words of a table."""
    return frozenset(read_values(name))


def read_values(name: str) -> dict[str, str]:
    """Return the words of a table with their values, in the order of the file."""
    values = {}
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        word, _, value = line.partition(": ")
        values[word] = value or word
    return values


def read_groups(name: str) -> dict[str, frozenset[str]]:
    """Return the words of a table by value; a word may have several, comma-separated."""
    groups: dict[str, set[str]] = {}
    for word, values in read_values(name).items():
        for value in values.split(", "):
            groups.setdefault(value, set()).add(word)
    return {value: frozenset(words) for value, words in groups.items()}

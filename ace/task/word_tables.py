"""Load the word tables in `ace/task/words`, UTF-8 files with one word on each line.

A line `word: value` gives the word a value. Without a value, the word is its own value.
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
    """Return a dict from value to words. A word may have several values, separated by commas."""
    groups: dict[str, set[str]] = {}
    for word, values in read_values(name).items():
        for value in values.split(", "):
            groups.setdefault(value, set()).add(word)
    return {value: frozenset(words) for value, words in groups.items()}

"""Load the word tables in `common/text/danger/words`, UTF-8 files with one entry a line.

An entry is a word, the beginning of words (`zertifikat*`) or several words. Between two
words that `_` separates there may be others (`turn _ off`). Lines with `#` say the
language of the entries below. Entries are folded as the texts are that they are looked
for in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from common.text import text_tables
from common.text.visible import matching_form

FOLDER = Path(__file__).parent / "words"
GAP = "_"


@dataclass(frozen=True)
class WordEntry:
    """An entry of a table: its words in order, and in which languages it is one."""

    table: str
    parts: tuple[str, ...]
    english: bool
    foreign: bool


def read_lines(name: str) -> list[str]:
    """Return the lines of a table as they are, without empty ones."""
    return text_tables.read_lines(FOLDER / f"{name}.txt")


def read_values(name: str) -> dict[str, str]:
    """Return the keys of a table with lines `key: value`."""
    pairs = (line.split(": ", 1) for line in read_lines(name))
    return dict(pairs)


@cache
def read_entries(name: str) -> tuple[WordEntry, ...]:
    """Return the entries of a table."""
    languages: dict[tuple[str, ...], set[bool]] = {}
    english = True
    for line in read_lines(name):
        if line.startswith("# "):
            english = line == "# en"
            continue
        parts = tuple(matching_form(line).text.lower().split())
        languages.setdefault(parts, set()).add(english)
    return tuple(
        WordEntry(name, parts, english=True in found, foreign=False in found)
        for parts, found in languages.items()
    )

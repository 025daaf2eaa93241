"""Find the entries of word tables in a text, in time linear in its length."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from common.text.danger.word_tables import GAP, WordEntry

MAX_GAP = 6  # words between the parts of a separable verb
MIN_STEM, MAX_STEM = 3, 24  # letters

# Scripts without spaces between words.
UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_TOKEN = re.compile(rf"[.]?[^\W_{UNSPACED}][^\W{UNSPACED}]*(?:[-'.][^\W{UNSPACED}]+)*")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_ELISIONS = (
    "l'",
    "d'",
    "n'",
    "s'",
    "j'",
    "m'",
    "c'",
    "qu'",
    "un'",
    "all'",
    "dell'",
    "nell'",
)


class Token(NamedTuple):
    """A word of a text and its place."""

    word: str
    start: int
    end: int


class WordMatch(NamedTuple):
    """An entry of a table that a text has.

    `first` and `last` are the numbers of its tokens, -1 in scripts without spaces.
    """

    table: str
    start: int
    end: int
    first: int
    last: int
    english: bool
    foreign: bool


@dataclass
class WordIndex:
    """Entries by their first word, so that each word of a text is looked up once."""

    words: dict[str, list[WordEntry]] = field(default_factory=lambda: defaultdict(list))
    stems: dict[str, list[WordEntry]] = field(default_factory=lambda: defaultdict(list))
    unspaced: dict[str, list[WordEntry]] = field(
        default_factory=lambda: defaultdict(list)
    )
    beginnings: set[str] = field(default_factory=set)  # of stems
    max_unspaced: int = 0

    def add(self, entries: Iterable[WordEntry]) -> None:
        for entry in entries:
            first = entry.parts[0]
            phrase = " ".join(entry.parts)
            if _UNSPACED.search(phrase):
                phrase = phrase.rstrip("*")
                self.unspaced[phrase].append(entry)
                self.max_unspaced = max(self.max_unspaced, len(phrase))
            elif first.endswith("*"):
                self.stems[first[:-1]].append(entry)
                self.beginnings.add(first[:MIN_STEM])
            else:
                self.words[first].append(entry)


def tokenise(text: str) -> list[Token]:
    return [Token(match[0], *match.span()) for match in _TOKEN.finditer(text)]


def find_marks(text: str, tokens: Sequence[Token], index: WordIndex) -> list[WordMatch]:
    """Return the entries that a text has."""
    marks = [
        mark
        for number, token in enumerate(tokens)
        for entry in _candidates(token.word, index)
        if (mark := _match(entry, tokens, number))
    ]
    if not text.isascii() and _UNSPACED.search(text):
        marks += _find_unspaced(text, tokens, index)
    return marks


def _candidates(word: str, index: WordIndex) -> Iterator[WordEntry]:
    yield from index.words.get(word, ())
    if word[:MIN_STEM] in index.beginnings:
        for length in range(MIN_STEM, min(len(word), MAX_STEM) + 1):
            yield from index.stems.get(word[:length], ())
    if "'" in word and word.startswith(_ELISIONS):
        yield from _candidates(word.split("'", 1)[1], index)


def _match(entry: WordEntry, tokens: Sequence[Token], number: int) -> WordMatch | None:
    """Match the words of an entry after its first one."""
    last = number
    gap = False
    for part in entry.parts[1:]:
        if part == GAP:
            gap = True
            continue
        reach = MAX_GAP if gap else 1
        window = range(last + 1, min(last + 1 + reach, len(tokens)))
        found = next((at for at in window if _equals(tokens[at].word, part)), None)
        if found is None:
            return None
        last, gap = found, False
    start, end = tokens[number].start, tokens[last].end
    return WordMatch(
        entry.table, start, end, number, last, entry.english, entry.foreign
    )


def _equals(word: str, part: str) -> bool:
    return (
        word.startswith(part[:-1]) if part.endswith("*") else word == part.rstrip(",")
    )


def _find_unspaced(
    text: str, tokens: Sequence[Token], index: WordIndex
) -> Iterator[WordMatch]:
    starts = {phrase[0] for phrase in index.unspaced}
    for start, letter in enumerate(text):
        if letter not in starts:
            continue
        for end in range(start + 1, min(start + index.max_unspaced, len(text)) + 1):
            for entry in index.unspaced.get(text[start:end], ()):
                yield WordMatch(
                    entry.table, start, end, -1, -1, english=False, foreign=True
                )

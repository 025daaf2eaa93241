"""Summarise texts without a model, by extracting the best sentences."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.text import literals

# The maximum length of a summary, in characters.
MAX_LENGTH = 2_000
# A sentence is a repetition if it shares at least this part of its words with a selected
# one.
REPEATED_SHARE = 0.7
# The levels of a summary, in the order in which they are tried.
MODEL, SHORTER, EXTRACTIVE, CUT = "model", "shorter", "extractive", "cut"
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?=\s)|(?=\n)|$)")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class MergedText:
    """A summary.

    `level` tells how the text was made. For the caller's own text, `level` is empty.
    """

    text: str
    level: str = ""
    model: str = ""
    notes: tuple[str, ...] = ()
    # Why no model made the text, although the project has one.
    cause: str = ""
    # The names, numbers and quotations of the sources that the text leaves out.
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sentence:
    """A sentence of the sources.

    `position` counts over all sources. A summary keeps this order.
    """

    position: int
    text: str
    words: frozenset[str]
    literals: frozenset[str]


def shorten(sources: Sequence[str], length: int = MAX_LENGTH) -> MergedText:
    """Extract sentences. If not even one sentence fits, cut the text off."""
    if text := extract(sources, length):
        return MergedText(text, EXTRACTIVE)
    return MergedText(cut(" ".join(sources), length), CUT)


def extract(sources: Sequence[str], length: int = MAX_LENGTH) -> str:
    """Extract the sentences with the highest weights, up to `length` characters.

    A sentence gets more weight for words that other sentences share, and for literals
    (paths, numbers, names). Repetitions are left out. The result is deterministic. It is
    empty if no sentence fits.
    """
    sentences = _sentences(sources)
    spread = Counter(word for sentence in sentences for word in sentence.words)
    ranked = sorted(sentences, key=lambda s: (-_weight(s, spread), s.position))
    selected: list[Sentence] = []
    room = length
    for sentence in ranked:
        size = len(sentence.text) + 1
        if size <= room and not _is_repeated(sentence, selected):
            selected.append(sentence)
            room -= size
    return "\n".join(s.text for s in sorted(selected, key=lambda s: s.position))


def cut(text: str, length: int) -> str:
    """Shorten a text that is too long.

    The text is cut at the end of a word.
    """
    if len(text) <= length:
        return text
    short = text[: length - 1]
    return short[: max(short.rfind(" "), length // 2)].rstrip() + "…"


def _sentences(sources: Sequence[str]) -> list[Sentence]:
    pieces = [
        match[0].strip() for text in sources for match in _SENTENCE.finditer(text)
    ]
    return [
        Sentence(
            position,
            text,
            frozenset(_WORD.findall(text.casefold())),
            frozenset(literals.find_literals(text)),
        )
        for position, text in enumerate(filter(None, pieces))
    ]


def _weight(sentence: Sentence, spread: Mapping[str, int]) -> float:
    words = sentence.words
    shared = sum(math.log1p(spread[word]) for word in words) / (len(words) + 5)
    return shared + 0.5 * min(len(sentence.literals), 4)


def _is_repeated(sentence: Sentence, selected: Sequence[Sentence]) -> bool:
    return any(
        len(sentence.words & other.words) >= REPEATED_SHARE * len(sentence.words)
        and sentence.literals <= other.literals
        for other in selected
    )

"""A shorter text of several, made without a model: their own sentences, chosen."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.text import literals

# Characters of a summary, unless all that the sources say is shorter.
MAX_LENGTH = 2_000
# A sentence that shares this much of its words with a chosen one adds nothing.
REPEATED_SHARE = 0.7
# How a summary came about, in the order of the escalation.
MODEL, SHORTER, EXTRACTIVE, CUT = "model", "shorter", "extractive", "cut"
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?](?=\s)|(?=\n)|$)")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Summary:
    """`level` tells how the text came about; a text of the caller's own has none."""

    text: str
    level: str = ""
    model: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sentence:
    """`place` is its position over all sources: what is chosen keeps their order."""

    place: int
    text: str
    words: frozenset[str]
    literals: frozenset[str]


def shorten(sources: Sequence[str], length: int = MAX_LENGTH) -> Summary:
    """The sources' own sentences; the beginning where not even one of them fits."""
    if text := extract(sources, length):
        return Summary(text, EXTRACTIVE)
    return Summary(cut(" ".join(sources), length), CUT)


def extract(sources: Sequence[str], length: int = MAX_LENGTH) -> str:
    """The sentences that say most of what the sources say, within `length` characters.

    A sentence weighs more the more of its words other sentences have too, and the
    more literals it holds, which a summary must not lose. Repetitions are left out.
    The same sources give the same text; it is empty when no sentence fits.
    """
    sentences = _sentences(sources)
    spread = Counter(word for sentence in sentences for word in sentence.words)
    ranked = sorted(sentences, key=lambda s: (-_weight(s, spread), s.place))
    chosen: list[Sentence] = []
    room = length
    for sentence in ranked:
        size = len(sentence.text) + 1
        if size <= room and not _is_repeated(sentence, chosen):
            chosen.append(sentence)
            room -= size
    return "\n".join(s.text for s in sorted(chosen, key=lambda s: s.place))


def cut(text: str, length: int) -> str:
    """The text, or its beginning up to a word's end, when it is too long."""
    if len(text) <= length:
        return text
    short = text[: length - 1]
    return short[: max(short.rfind(" "), length // 2)].rstrip() + "…"


def _sentences(sources: Sequence[str]) -> list[Sentence]:
    found = [match[0].strip() for text in sources for match in _SENTENCE.finditer(text)]
    return [
        Sentence(
            place,
            text,
            frozenset(_WORD.findall(text.casefold())),
            frozenset(literals.find_literals(text)),
        )
        for place, text in enumerate(filter(None, found))
    ]


def _weight(sentence: Sentence, spread: Mapping[str, int]) -> float:
    words = sentence.words
    shared = sum(math.log1p(spread[word]) for word in words) / (len(words) + 5)
    return shared + 0.5 * min(len(sentence.literals), 4)


def _is_repeated(sentence: Sentence, chosen: Sequence[Sentence]) -> bool:
    return any(
        len(sentence.words & other.words) >= REPEATED_SHARE * len(sentence.words)
        and sentence.literals <= other.literals
        for other in chosen
    )

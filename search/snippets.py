"""Extracts of found texts with the words of the query marked."""

from __future__ import annotations

import re
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple, TypeVar

from django.db import connection
from django.utils.html import escape

from search import words
from search.query import Term
from search.words import Span

LENGTH = 240  # characters shown of a text
LEAD = 40  # characters shown before the first marked word
# Characters looked at: more text is stored, but what it is about stands earlier.
DEEPEST = 10_000
# How many letters a stem and each of its words begin with alike, so that most words need
# no second look. Other languages change them: German takes umlauts off, Arabic prefixes.
ALIKE = {"simple": 2, "english": 2}

K = TypeVar("K", bound=Hashable)


class Mark(NamedTuple):
    """A word of the query in a text, and what finding it is worth."""

    start: int
    end: int
    lexeme: str
    weight: float


class Word(NamedTuple):
    """A word of a text as it is compared, and the parts that may be meant instead."""

    start: int
    end: int
    folded: str
    parts: tuple[Word, ...] = ()


def of(texts: Mapping[K, str], terms: list[Term], language: str) -> dict[K, str]:
    """HTML-escaped extracts with the matched words in `<mark>`.

    A text in which no word of the query stands is shown from its beginning.
    """
    wanted = {term.lexeme: term.weight for term in terms}
    alike = ALIKE.get(language, 0)
    beginnings = {lexeme[:alike] for lexeme in wanted}
    shown = {key: " ".join(text[:DEEPEST].split()) for key, text in texts.items()}
    other = set[str]()
    found = {
        key: list(_likely(text, alike, beginnings, other))
        for key, text in shown.items()
    }
    meaning = _meaning(chain.from_iterable(found.values()), wanted, language)
    return {
        key: extract(text, list(_marks(found[key], meaning, wanted)))
        for key, text in shown.items()
    }


def extract(text: str, marks: list[Mark]) -> str:
    """The stretch of a text in which the marks are worth most, each lexeme once."""
    start, end = _window(text, marks)
    shown = "…" if start else ""
    at = start
    for mark in marks:
        if mark.end <= at or mark.end > end:
            continue
        # Pairs of unspaced scripts overlap.
        begin = max(mark.start, at)
        shown += (
            escape(text[at:begin]) + f"<mark>{escape(text[begin : mark.end])}</mark>"
        )
        at = mark.end
    return shown + escape(text[at:end]) + ("…" if end < len(text) else "")


def _window(text: str, marks: list[Mark]) -> Span:
    best, start = 0.0, 0
    for place, first in enumerate(marks):
        near = _until(marks, place, first.start + LENGTH - LEAD)
        if (worth := sum({mark.lexeme: mark.weight for mark in near}.values())) > best:
            best, start = worth, first.start
    start = _word_start(text, max(0, min(start - LEAD, len(text) - LENGTH)))
    end = start + LENGTH
    if end >= len(text):
        return start, len(text)
    # Cut between words, unless the last word is longer than a third of the extract.
    space = text.rfind(" ", start + LENGTH * 2 // 3, end + 1)
    return start, space if space > 0 else end


def _until(marks: list[Mark], place: int, end: int) -> Iterator[Mark]:
    while place < len(marks) and marks[place].end <= end:
        yield marks[place]
        place += 1


def _word_start(text: str, at: int) -> int:
    if at == 0:
        return 0
    space = text.find(" ", at - 1, at + LEAD)
    return space + 1 if space >= 0 else at


def _likely(
    text: str, alike: int, beginnings: Container[str], other: set[str]
) -> Iterator[Word]:
    """The words of a text, or those parts of them, that may mean a wanted lexeme.

    `other` words are not looked for; those of this text join them.
    """
    for match in words.found(text):
        word = match[0]
        if word in other:
            continue
        lower = word.lower()
        # Most words are of one piece, and most of those are not looked for.
        whole = word[1:] == lower[1:] and word.isascii()
        if whole and lower[:alike] not in beginnings:
            other.add(word)
            continue
        folded = words.folded(word)
        parts = () if whole else _parts(match, alike, beginnings)
        if parts or folded[:alike] in beginnings:
            yield Word(match.start(), match.end(), folded, parts)


def _parts(
    match: re.Match[str], alike: int, beginnings: Container[str]
) -> tuple[Word, ...]:
    word, start = match[0], match.start()
    return tuple(
        Word(start + a, start + b, part)
        for a, b in words.part_spans(word)
        if (part := words.folded(word[a:b]))[:alike] in beginnings
    )


def _marks(
    found: list[Word], meaning: Mapping[str, str], wanted: Mapping[str, float]
) -> Iterator[Mark]:
    """The words that mean a lexeme of the query, in order; else their parts that do."""
    for word in found:
        lexeme = meaning.get(word.folded)
        if lexeme:
            yield Mark(word.start, word.end, lexeme, wanted[lexeme])
        elif word.parts:
            yield from _marks(list(word.parts), meaning, wanted)


def _meaning(
    found: Iterable[Word], wanted: Container[str], language: str
) -> dict[str, str]:
    """The wanted lexemes that words mean: {folded word: lexeme}."""
    likely = {each.folded for word in found for each in (word, *word.parts)}
    if not likely:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(STEMS, [language, list(likely)])
        return {word: lexeme for word, lexeme in cursor.fetchall() if lexeme in wanted}


# PostgreSQL stems words of letters, those of ASCII by a dictionary of their own (1; the
# others: 2), which is the English one in Russian; words with digits are lexemes as they are.
STEMS = r"""
WITH stemmer AS (
    SELECT maptokentype = 1 AS is_ascii, mapdict::regdictionary AS dictionary
    FROM pg_ts_config_map
    WHERE mapcfg = %s::regconfig AND maptokentype IN (1, 2) AND mapseqno = 1
)
SELECT word, CASE WHEN word ~ '\d' THEN word ELSE (ts_lexize(dictionary, word))[1] END
FROM unnest(%s::text[]) AS word JOIN stemmer ON is_ascii = (word ~ '^[a-z]+$')
"""

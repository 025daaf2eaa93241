"""Extracts of found texts with the words of the query marked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from html import escape
from itertools import chain
from typing import NamedTuple, TypeVar

from django.db import connection

from search import tokenise
from search.bm25 import Term
from search.tokenise import Span

LENGTH = 240  # characters shown of a text
LEAD = 40  # characters shown before the first marked word
# Characters looked at: more text is stored, but what it is about stands earlier.
MAX_CHARACTERS = 10_000
# Here a word begins as its stem does, but for the stem's last letter (`happy`, `happi`),
# and alike in two letters at least: most texts need no second look. Other languages
# change the beginning: German takes umlauts off, Arabic prefixes.
SHARED_LETTERS = {"simple": 2, "english": 2}
ANY_BEGINNING = ("",)
# Words of a language whose lexemes a process remembers (3 MB), and their characters.
MAX_CACHED_WORDS, MAX_CACHED_LENGTH = 20_000, 50

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


def build(texts: Mapping[K, str], terms: list[Term], language: str) -> dict[K, str]:
    """HTML-escaped extracts with the matched words in `<mark>`.

    A text in which no word of the query stands is shown from its beginning.
    """
    wanted = {term.lexeme: term.weight for term in terms}
    shown = {key: _normalise(text) for key, text in texts.items()}
    if not wanted:
        return {key: extract(text, []) for key, text in shown.items()}
    beginnings = _beginnings(wanted, language)
    found = {key: list(_find_words(text, beginnings)) for key, text in shown.items()}
    meaning = _match_lexemes(chain.from_iterable(found.values()), wanted, language)
    return {
        key: extract(text, list(_marks(found[key], meaning, wanted)))
        for key, text in shown.items()
    }


def _normalise(text: str) -> str:
    """What is looked at of a text; an accent of its own would end a word."""
    return unicodedata.normalize("NFC", " ".join(text[:MAX_CHARACTERS].split()))


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
        near = _marks_until(marks, place, first.start + LENGTH - LEAD)
        if (worth := sum({mark.lexeme: mark.weight for mark in near}.values())) > best:
            best, start = worth, first.start
    start = _word_start(text, max(0, min(start - LEAD, len(text) - LENGTH)))
    end = start + LENGTH
    if end >= len(text):
        return start, len(text)
    # Cut between words, unless the last word is longer than a third of the extract.
    space = text.rfind(" ", start + LENGTH * 2 // 3, end + 1)
    return start, space if space > 0 else end


def _marks_until(marks: list[Mark], place: int, end: int) -> Iterator[Mark]:
    while place < len(marks) and marks[place].end <= end:
        yield marks[place]
        place += 1


def _word_start(text: str, at: int) -> int:
    if at == 0:
        return 0
    space = text.find(" ", at - 1, at + LEAD)
    return space + 1 if space >= 0 else at


def _beginnings(lexemes: Iterable[str], language: str) -> tuple[str, ...]:
    """How the words begin that may mean these lexemes."""
    alike = SHARED_LETTERS.get(language, 0)
    if not alike:
        return ANY_BEGINNING
    return tuple({lexeme[: max(alike, len(lexeme) - 1)] for lexeme in lexemes})


def _find_words(text: str, beginnings: tuple[str, ...]) -> Iterator[Word]:
    """The words of a text, or those parts of them, that may mean a wanted lexeme."""
    for start, end in _spans_to_search(text, beginnings):
        for match in tokenise.find_words(text, start, end):
            folded = tokenise.fold(match[0])
            spans = tokenise.part_spans(match[0])
            parts = _parts(match, spans, beginnings) if spans else ()
            if parts or folded.startswith(beginnings):
                yield Word(match.start(), match.end(), folded, parts)


def _spans_to_search(text: str, beginnings: tuple[str, ...]) -> list[Span]:
    """What stands between spaces and may hold such a word.

    Each beginning is looked for by itself: to compile a pattern of them took longer.
    """
    # Folding makes other letters of some.
    if beginnings == ANY_BEGINNING or not text.isascii():
        return [(0, len(text))]
    lower, found = text.lower(), set[Span]()
    for beginning in beginnings:
        end = 0
        while (at := lower.find(beginning, end)) >= 0:
            end = text.find(" ", at + len(beginning))
            if end < 0:
                end = len(text)
            found.add((text.rfind(" ", 0, at) + 1, end))
    return sorted(found)


def _parts(
    match: re.Match[str], spans: Iterable[Span], beginnings: tuple[str, ...]
) -> tuple[Word, ...]:
    word, start = match[0], match.start()
    return tuple(
        Word(start + a, start + b, part)
        for a, b in spans
        if (part := tokenise.fold(word[a:b])).startswith(beginnings)
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


def _match_lexemes(
    found: Iterable[Word], wanted: Container[str], language: str
) -> dict[str, str]:
    """The wanted lexemes that words mean: {folded word: lexeme}."""
    likely = {each.folded for word in found for each in (word, *word.parts)}
    stems = _stems(likely, language)
    return {word: stem for word, stem in stems.items() if stem and stem in wanted}


def _stems(likely: set[str], language: str) -> dict[str, str | None]:
    """The lexemes of words, None where they have none; the same words come again."""
    known = _stem_cache.setdefault(language, {})
    told = {word: known[word] for word in likely if word in known}
    if missing := likely - told.keys():
        with connection.cursor() as cursor:
            cursor.execute(STEMS, [language, list(missing)])
            new = dict.fromkeys(missing) | dict(cursor.fetchall())
        if len(known) + len(new) > MAX_CACHED_WORDS:
            known = _stem_cache[language] = {}
        known.update(item for item in new.items() if len(item[0]) <= MAX_CACHED_LENGTH)
        told |= new
    return told


# {language: {word: lexeme}}, by what PostgreSQL told this process.
_stem_cache: dict[str, dict[str, str | None]] = {}

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

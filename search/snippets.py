"""Extracts of the texts of hits, with the words of the query marked."""

from __future__ import annotations

import re
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from html import escape
from itertools import chain
from typing import NamedTuple, TypeVar

from django.db import connection

from common.text import tokenise
from common.text.normalise import normalise
from common.text.quote import visible_line
from common.text.tokenise import Span
from search.bm25 import Term

LENGTH = 240  # characters of an extract
LEAD = 40  # characters before the first marked word
# The number of characters that are searched for words. A text says early what it is about.
MAX_CHARACTERS = 10_000
# In these languages, a word and its stem have at least this many first letters in common.
# They also have all letters of the stem but the last in common (`happy`, `happi`). Few
# words therefore need stemming. In other languages stemming changes the beginning of a
# word: German loses umlauts, and Arabic loses prefixes.
SHARED_LETTERS = {"simple": 2, "english": 2}
ANY_BEGINNING = ("",)
# A process caches the lexemes of this many words of a language (3 MB). Longer words than
# the second number, in characters, are not cached.
MAX_CACHED_WORDS, MAX_CACHED_LENGTH = 20_000, 50

K = TypeVar("K", bound=Hashable)


class Mark(NamedTuple):
    """A word of the query in a text, and the weight of its lexeme."""

    start: int
    end: int
    lexeme: str
    weight: float


class Word(NamedTuple):
    """A word of a text in both its spellings, and the word's parts, which may also match."""

    start: int
    end: int
    spellings: tuple[str, str]
    parts: tuple[Word, ...] = ()


class Extract(NamedTuple):
    """An extract as HTML and as plain text, and the weight of the query's words in it."""

    html: str
    weight: float
    plain: str


def build(
    texts: Mapping[K, str], terms: list[Term], language: str, length: int = LENGTH
) -> dict[K, Extract]:
    """Build HTML-escaped extracts with the words of the query in `<mark>`.

    An extract has about `length` characters of the text. If a text has no word of the
    query, the extract is the beginning of the text.
    """
    weights = _weights_of_marks(terms)
    clean = {key: _normalise(text) for key, text in texts.items()}
    if not weights:
        return {key: extract(text, [], length) for key, text in clean.items()}
    beginnings = _beginnings(weights, language)
    words = {key: list(_find_words(text, beginnings)) for key, text in clean.items()}
    lexemes = _match_lexemes(chain.from_iterable(words.values()), weights, language)
    return {
        key: extract(text, list(_marks(words[key], lexemes, weights)), length)
        for key, text in clean.items()
    }


def _weights_of_marks(terms: Iterable[Term]) -> dict[str, float]:
    """Return {lexeme: weight}; a letter of a pair is not marked where it stands alone."""
    weights = {term.lexeme: term.weight for term in terms}
    letters = {
        letter
        for pair in weights
        if len(units := tokenise.unspaced_letters(pair)) > 1
        for letter in units
    }
    return {each: weight for each, weight in weights.items() if each not in letters}


def _normalise(text: str) -> str:
    """Return the start of a text on one line, in NFC, because combining accents end words."""
    return normalise(visible_line(text[:MAX_CHARACTERS]), "NFC")


def extract(text: str, marks: list[Mark], length: int = LENGTH) -> Extract:
    """Cut out the window whose marks weigh most, counting each lexeme once."""
    (start, end), weight = _window(text, marks, length)
    before, after = "…" if start else "", "…" if end < len(text) else ""
    html = before
    at = start
    for mark in marks:
        if mark.end <= at or mark.end > end:
            continue
        # The character pairs of unspaced scripts overlap.
        begin = max(mark.start, at)
        if begin == at and html.endswith("</mark>"):
            html = html.removesuffix("</mark>")
        else:
            html += f"{escape(text[at:begin])}<mark>"
        html += f"{escape(text[begin : mark.end])}</mark>"
        at = mark.end
    html += escape(text[at:end]) + after
    return Extract(html, weight, f"{before}{text[start:end]}{after}")


def _window(text: str, marks: list[Mark], length: int) -> tuple[Span, float]:
    best, start = 0.0, 0
    for place, first in enumerate(marks):
        inside = _marks_until(marks, place, first.start + length - LEAD)
        weight = sum({mark.lexeme: mark.weight for mark in inside}.values())
        if weight > best:
            best, start = weight, first.start
    start = _word_start(text, max(0, min(start - LEAD, len(text) - length)))
    end = start + length
    if end >= len(text):
        return (start, len(text)), best
    # Cut between words, unless the last word is longer than a third of the extract.
    space = text.rfind(" ", start + length * 2 // 3, end + 1)
    return (start, space if space > 0 else end), best


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
    """Return the beginnings that a word must have to stem to one of these lexemes."""
    letters = SHARED_LETTERS.get(language, 0)
    if not letters:
        return ANY_BEGINNING
    return tuple({lexeme[: max(letters, len(lexeme) - 1)] for lexeme in lexemes})


def _find_words(text: str, beginnings: tuple[str, ...]) -> Iterator[Word]:
    """Find the words of a text that may stem to a lexeme of the query, or have such parts."""
    for start, end in _spans_to_search(text, beginnings):
        for match in tokenise.find_words(text, start, end):
            spellings = tokenise.spellings(match[0])
            spans = tokenise.part_spans(match[0])
            parts = _parts(match, spans, beginnings) if spans else ()
            if parts or _may_match(spellings, beginnings):
                yield Word(match.start(), match.end(), spellings, parts)


def _may_match(spellings: tuple[str, str], beginnings: tuple[str, ...]) -> bool:
    exact, folded = spellings
    return exact.startswith(beginnings) or folded.startswith(beginnings)


def _spans_to_search(text: str, beginnings: tuple[str, ...]) -> list[Span]:
    """Return the stretches of text between spaces that hold one of the beginnings.

    Each beginning is searched separately, because compiling one pattern of all took longer.
    """
    # Folding changes letters that are not ASCII.
    if beginnings == ANY_BEGINNING or not text.isascii():
        return [(0, len(text))]
    lower, spans = text.lower(), set[Span]()
    for beginning in beginnings:
        end = 0
        while (at := lower.find(beginning, end)) >= 0:
            end = text.find(" ", at + len(beginning))
            if end < 0:
                end = len(text)
            spans.add((text.rfind(" ", 0, at) + 1, end))
    return sorted(spans)


def _parts(
    match: re.Match[str], spans: Iterable[Span], beginnings: tuple[str, ...]
) -> tuple[Word, ...]:
    word, start = match[0], match.start()
    return tuple(
        Word(start + a, start + b, part)
        for a, b in spans
        if _may_match(part := tokenise.spellings(word[a:b]), beginnings)
    )


def _marks(
    words: list[Word], lexemes: Mapping[str, str], weights: Mapping[str, float]
) -> Iterator[Mark]:
    """Mark, in order, each word that stems to a lexeme of the query, or else its parts."""
    for word in words:
        lexeme = next(filter(None, map(lexemes.get, word.spellings)), None)
        if lexeme:
            yield Mark(word.start, word.end, lexeme, weights[lexeme])
        elif word.parts:
            yield from _marks(list(word.parts), lexemes, weights)


def _match_lexemes(
    words: Iterable[Word], lexemes: Container[str], language: str
) -> dict[str, str]:
    """Return {word: lexeme} of the words that stem to a lexeme of the query."""
    keys = {
        spelling
        for word in words
        for each in (word, *word.parts)
        for spelling in each.spellings
    }
    stems = _stems(keys, language)
    return {word: stem for word, stem in stems.items() if stem and stem in lexemes}


def _stems(words: set[str], language: str) -> dict[str, str | None]:
    """Return {word: lexeme}, with None for a stop word; cached, because words recur."""
    cache = _stem_cache.setdefault(language, {})
    stems = {word: cache[word] for word in words if word in cache}
    if missing := words - stems.keys():
        with connection.cursor() as cursor:
            cursor.execute(STEMS, [language, list(missing)])
            new = dict.fromkeys(missing) | dict(cursor.fetchall())
        if len(cache) + len(new) > MAX_CACHED_WORDS:
            cache = _stem_cache[language] = {}
        cache.update(item for item in new.items() if len(item[0]) <= MAX_CACHED_LENGTH)
        stems |= new
    return stems


# {language: {word: lexeme}}, as PostgreSQL has stemmed them for this process.
_stem_cache: dict[str, dict[str, str | None]] = {}

# A language of PostgreSQL has one dictionary for ASCII words (token type 1) and one for
# other words (token type 2). For Russian, the dictionary for ASCII words is the English
# one. A word with digits is not stemmed.
STEMS = r"""
WITH stemmer AS (
    SELECT maptokentype = 1 AS is_ascii, mapdict::regdictionary AS dictionary
    FROM pg_ts_config_map
    WHERE mapcfg = %s::regconfig AND maptokentype IN (1, 2) AND mapseqno = 1
)
SELECT word, CASE WHEN word ~ '\d' THEN word ELSE (ts_lexize(dictionary, word))[1] END
FROM unnest(%s::text[]) AS word JOIN stemmer ON is_ascii = (word ~ '^[a-z]+$')
"""

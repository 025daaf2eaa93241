"""Extracts of found texts with the words of the query marked."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.utils.html import escape

from search import words
from search.query import Term

LENGTH = 240  # characters shown of a text
LEAD = 40  # characters shown before the first marked word
# Characters looked at: more text is stored, but what it is about stands earlier.
DEEPEST = 10_000

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Mark:
    """A word of the query in a text, and what finding it is worth."""

    start: int
    end: int
    lexeme: str
    weight: float


def of(rows: QuerySet[Any], column: str, terms: list[Term]) -> dict[uuid.UUID, str]:
    """HTML-escaped extracts with the matched words in `<mark>`: {id: snippet}.

    A text in which no word of the query stands is shown from its beginning.
    """
    texts = {
        pk: _SPACES.sub(" ", value[:DEEPEST]).strip()
        for pk, value in rows.values_list("pk", column)
    }
    wanted = {term.lexeme: term.weight for term in terms}
    lexemes = _lexemes(texts.values(), wanted)
    return {
        pk: extract(text, _marks(text, lexemes, wanted)) for pk, text in texts.items()
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


def _window(text: str, marks: list[Mark]) -> tuple[int, int]:
    best, start = 0.0, 0
    for place, first in enumerate(marks):
        last = first.start + LENGTH - LEAD
        near = takewhile(lambda mark, last=last: mark.end <= last, marks[place:])
        inside = {mark.lexeme: mark.weight for mark in near}
        if (worth := sum(inside.values())) > best:
            best, start = worth, first.start
    start = _word_start(text, max(0, min(start - LEAD, len(text) - LENGTH)))
    end = start + LENGTH
    if end >= len(text):
        return start, len(text)
    # Cut between words, unless the last word is longer than a third of the extract.
    space = text.rfind(" ", start + LENGTH * 2 // 3, end + 1)
    return start, space if space > 0 else end


def _word_start(text: str, at: int) -> int:
    if at == 0:
        return 0
    space = text.find(" ", at - 1, at + LEAD)
    return space + 1 if space >= 0 else at


def _marks(
    text: str, lexemes: Mapping[str, str], wanted: Mapping[str, float]
) -> list[Mark]:
    """Where words stand that mean a lexeme of the query, in order."""

    def meant(span: words.Span) -> Mark | None:
        lexeme = lexemes.get(words.folded(text[slice(*span)]), "")
        return Mark(*span, lexeme, wanted[lexeme]) if lexeme in wanted else None

    found: list[Mark] = []
    for whole, parts in words.runs(text):
        if mark := meant(whole):
            found.append(mark)
        else:
            found += filter(None, map(meant, parts))
    return found


def _lexemes(texts: Iterable[str], wanted: Iterable[str]) -> dict[str, str]:
    """The lexemes of those words that may mean a wanted one: {folded word: lexeme}."""
    # A stem and its word begin alike, so most words need no stemming.
    beginnings = {lexeme[:2] for lexeme in wanted}
    seen = {
        words.folded(text[slice(*span)])
        for text in texts
        for whole, parts in words.runs(text)
        for span in (whole, *parts)
    }
    likely = [word for word in seen if word[:2] in beginnings]
    if not likely:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(STEMS, [likely])
        return dict(cursor.fetchall())


# PostgreSQL stems words of letters; those with digits are their own lexemes.
STEMS = r"""
SELECT word, CASE WHEN word ~ '\d' THEN word
                  ELSE (ts_lexize('english_stem', word))[1] END
FROM unnest(%s::text[]) AS word
"""

"""What a person typed, and the lexemes that it means in a project."""

from __future__ import annotations

import math
import re
import string
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.postgres.search import SearchQuery
from django.db import DEFAULT_DB_ALIAS, connections

from common.db import execute_many
from search import words
from search.fields import DIMENSIONS, TIERS
from search.filtered import Part

# A pasted report is asked by its rarest lexemes. Measured on reports of 35 to 171
# lexemes: all of them lose 0.02 nDCG@10 against 64, 32 lose 0.05.
MOST_TERMS = 64
# Saturation of a lexeme that the query repeats (Robertson's k3, usually 7 to 8).
REPETITION = 8.0

# More words than this beside the quoted ones are prose, which quotes titles and
# messages and uses dashes: it means no operators. Measured on judged queries: taken
# as operators there, quotes cost 0.05 nDCG@10.
TYPED_WORDS = 8

# Not the quotes of pasted code: `{"user_id": "mia"}` asks for no phrase.
_PHRASE = re.compile(r'(?:(?<=\s)|^)(-?)"([^"]{1,500})"(?=[\s.!?]|$)')
# Behind one letter and a sign stands what a flag takes (`-I/usr/include`).
_EXCLUDED = r"(?:^|(?<=\s))-(?!-|[^\W\d][^\w-])(\S{3,100})(?=\s|$)"
# A word of a name; camelCase ones are flags (`-DskipTests`).
_PLAIN = re.compile(r"\w[^\WA-Z]*|[^\Wa-z]+")
_PUNCTUATION = ".,:;!?"
# A dash within quotes is a character.
_OPERATOR = re.compile(f"{_PHRASE.pattern}|{_EXCLUDED}")
# Each is looked at in every row that holds the others. Nobody types so many.
MOST_OPERATORS = 32


class LexemeQuery(SearchQuery):
    """A tsquery of lexemes that are stemmed already."""

    template = "(%(expressions)s)::tsquery"


@dataclass(frozen=True)
class Parsed:
    """A query cut into what ranks, what must stand as written, what must not stand."""

    ranked: str
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        return not (self.phrases or self.excluded)


@dataclass(frozen=True)
class Term:
    """A lexeme of a query; `count` is how often the query repeats it.

    `df` of the project's `documents` hold it; `tiers` are the rows of each of TIERS,
    where they have been counted.
    """

    lexeme: str
    index: int
    df: int
    documents: int
    count: int = 1
    tiers: tuple[int | None, ...] = ()

    @property
    def idf(self) -> float:
        return idf(self.df, self.documents)

    @property
    def weight(self) -> float:
        return self.idf * self.count * (REPETITION + 1) / (self.count + REPETITION)


class Condition(NamedTuple):
    """What every hit must fulfil, and the lexemes that it must hold for that."""

    query: LexemeQuery
    held: tuple[str, ...]


def parse(query: str) -> Parsed:
    """Take out `"quoted phrases"` and `-words`; the words of a phrase rank as well.

    Prose, and a query of nothing but exclusions, are words only.
    """
    phrases: list[str] = []
    excluded: list[str] = []

    def taken(found: re.Match[str]) -> str:
        minus, phrase, word = found.groups()
        word = word and word.rstrip(_PUNCTUATION)
        if not (phrase or _is_name(word)):
            return found[0]
        if word or minus:
            excluded.append(word or phrase)
            return " "
        phrases.append(phrase)
        return str(phrase)

    if len(_PHRASE.sub(" ", query).split()) > TYPED_WORDS:
        return Parsed(query)
    ranked = _OPERATOR.sub(taken, query)
    if not ranked.strip() or len(phrases) + len(excluded) > MOST_OPERATORS:
        return Parsed(query)
    return Parsed(ranked, tuple(phrases), tuple(excluded))


def condition(
    parsed: Parsed, language: str, using: str = DEFAULT_DB_ALIAS
) -> Condition | None:
    """What every hit must fulfil in any mode; None when nothing is asked for.

    A phrase of nothing but stop words or punctuation asks for nothing. An identifier
    of which the stop words leave one word or none (`no_cache`) is asked for as a whole:
    it would be any `cached`.
    """
    if parsed.is_plain:
        return None
    wanted = [(phrase, "") for phrase in parsed.phrases]
    unwanted = [(phrase, "!") for phrase in parsed.excluded]
    with connections[using].cursor() as cursor:
        cursor.execute(
            CONDITION,
            [
                language,
                [words.spaced(phrase) for phrase, _ in wanted + unwanted],
                [_whole(phrase) for phrase, _ in wanted + unwanted],
                [operator for _, operator in wanted + unwanted],
            ],
        )
        rows = cursor.fetchall()
    if not rows:
        return None
    held = [lexeme for _, lexemes in rows for lexeme in lexemes]
    return Condition(LexemeQuery(" & ".join(part for part, _ in rows)), tuple(held))


def _is_name(word: str) -> bool:
    """Whether a dash before it leaves it out, and does not make a flag of it."""
    is_plain = len(word) > 2 and all(map(_PLAIN.fullmatch, word.split("-")))
    return is_plain or _whole(word) is not None


def _whole(phrase: str) -> str | None:
    """The lexeme of a phrase that is one identifier, as in `no_cache()`."""
    found = words.compounds(phrase)
    is_one = found == [phrase.strip(f"{string.whitespace}()={_PUNCTUATION}").lower()]
    return found[0] if is_one else None


CONDITION = """
SELECT operator || '(' || CASE WHEN is_cut THEN array_to_tsvector(ARRAY[whole])::text
                               ELSE phrase::text END || ')',
       CASE WHEN operator <> '' THEN '{}'
            WHEN is_cut THEN ARRAY[whole]
            ELSE tsvector_to_array(to_tsvector(language, asked.words)) END
FROM (SELECT %s::regconfig AS language) AS given,
     unnest(%s::text[], %s::text[], %s::text[]) AS asked (words, whole, operator),
     phraseto_tsquery(language, asked.words) AS phrase,
     phraseto_tsquery('simple', asked.words) AS uncut,
     LATERAL (SELECT whole IS NOT NULL AND numnode(phrase) <= 1
                     AND numnode(phrase) < numnode(uncut) AS is_cut) AS _
WHERE is_cut OR numnode(phrase) > 0
"""


class Answer(NamedTuple):
    """A query's terms, rarest first, and what was asked in the same message."""

    terms: list[Term]
    beside: Any = None


def terms(
    ranked: str,
    *,
    project_id: uuid.UUID,
    corpus: str,
    language: str,
    using: str = DEFAULT_DB_ALIAS,
    beside: Part | None = None,
) -> Answer:
    """The lexemes of a query with their weights in a project.

    An unknown lexeme counts as standing in one document, because 1 is not stored.
    `beside` is a statement of one value that goes along, as each takes its way.
    """
    spaced, whole = words.spaced(ranked), words.compounds(ranked)
    params: list[Any] = [
        language,
        spaced,
        whole,
        project_id,
        corpus,
        list(TIERS),
        MOST_TERMS,
    ]
    *values, rows = execute_many(
        *([beside] if beside else []), (TERMS, params), using=using
    )
    found = [
        Term(lexeme, index, df, max(documents, df), count, tuple(tiers))
        for lexeme, index, df, count, documents, tiers in rows
    ]
    return Answer(found, values[0][0][0] if values else None)


TERMS = """
WITH words AS (
    SELECT lexeme, cardinality(positions) AS count
    FROM unnest(to_tsvector(%s::regconfig, %s))
    UNION ALL SELECT unnest(%s::text[]), 1
), asked AS (
    SELECT lexeme, max(count) AS count FROM words GROUP BY lexeme
), corpus AS (
    SELECT id, documents FROM search_corpus WHERE project_id = %s AND name = %s
)
SELECT asked.lexeme, lexeme_index(asked.lexeme), coalesce(stat.df, 1) AS df,
       asked.count, coalesce((SELECT documents FROM corpus), 0),
       ARRAY(
           SELECT best.df FROM unnest(%s::text[]) WITH ORDINALITY AS tiers (tier, place)
           LEFT JOIN search_lexemestat best ON best.lexeme = tier || asked.lexeme
               AND best.corpus_id = stat.corpus_id
           ORDER BY place
       )
FROM asked
LEFT JOIN search_lexemestat stat
    ON stat.lexeme = asked.lexeme AND stat.corpus_id = (SELECT id FROM corpus)
ORDER BY df, asked.lexeme
LIMIT %s
"""


def idf(df: int, documents: int) -> float:
    """BM25's inverse document frequency, never negative (Robertson, with Lucene's 1+)."""
    return math.log(1 + (documents - df + 0.5) / (df + 0.5))


def weights(found: Sequence[Term]) -> str:
    """The weights of a query's lexemes as a sparsevec literal."""
    by_index = {term.index: term.weight for term in found}
    parts = ",".join(f"{i}:{value:.6f}" for i, value in sorted(by_index.items()))
    return f"{{{parts}}}/{DIMENSIONS}"

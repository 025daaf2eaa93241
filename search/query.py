"""What a person typed, and the lexemes that it means in a project."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.postgres.search import SearchQuery
from django.db import DEFAULT_DB_ALIAS, connections

from search import semantic, words
from search.fields import DIMENSIONS, TIERS

# The rows that a search looks at; what more costs and gains: docs/ranking.md, "Tiers".
CANDIDATE_ROWS = 2_000
# A tier of fewer rows says too little, and so many are looked at in any case: as many
# as the lane gives.
LEAST_ROWS = semantic.DEPTH
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
# Shorter ones are flags (`ls -la`), and so are camelCase ones (`-DskipTests`).
_EXCLUDED = re.compile(r"(?:^|(?<=\s))-(\w[^\WA-Z]{2,100})(?=\s|$)")


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


class Posting(NamedTuple):
    """What the index knows rows by, and how many there are."""

    lexeme: str
    rows: int


@dataclass(frozen=True)
class Term:
    """A lexeme of a query; `count` is how often the query repeats it.

    `tiers` are the rows of each of TIERS, where they have been counted.
    """

    lexeme: str
    index: int
    df: int
    idf: float
    count: int = 1
    tiers: tuple[int | None, ...] = ()

    @property
    def postings(self) -> list[Posting]:
        """All its rows, then fewer and fewer of its best."""
        counted = zip(TIERS, self.tiers, strict=False)
        best = [
            Posting(tier + self.lexeme, rows)
            for tier, rows in counted
            if rows and rows >= LEAST_ROWS
        ]
        return [Posting(self.lexeme, self.df), *best]

    @property
    def weight(self) -> float:
        return self.idf * self.count * (REPETITION + 1) / (self.count + REPETITION)


def parse(query: str) -> Parsed:
    """Take out `"quoted phrases"` and `-words`; the words of a phrase rank as well.

    Prose, and a query of nothing but exclusions, are words only.
    """
    phrases: list[str] = []
    excluded: list[str] = []

    def taken(found: re.Match[str]) -> str:
        minus, phrase = found.groups()
        (excluded if minus else phrases).append(phrase)
        return " " if minus else phrase

    if len(_PHRASE.sub(" ", query).split()) > TYPED_WORDS:
        return Parsed(query)
    rest = _PHRASE.sub(taken, query)
    excluded += _EXCLUDED.findall(rest)
    ranked = _EXCLUDED.sub(" ", rest)
    if not ranked.strip():
        return Parsed(query)
    return Parsed(ranked, tuple(phrases), tuple(excluded))


def condition(
    parsed: Parsed, language: str, using: str = DEFAULT_DB_ALIAS
) -> LexemeQuery | None:
    """What every hit must fulfil in any mode; None when nothing is asked for.

    A phrase of nothing but stop words or punctuation asks for nothing.
    """
    if parsed.is_plain:
        return None
    wanted = [(phrase, "") for phrase in parsed.phrases]
    unwanted = [(phrase, "!") for phrase in parsed.excluded]
    with connections[using].cursor() as cursor:
        cursor.execute(
            CONDITION,
            [
                [words.spaced(phrase) for phrase, _ in wanted + unwanted],
                [operator for _, operator in wanted + unwanted],
                language,
            ],
        )
        parts = [row[0] for row in cursor.fetchall()]
    return LexemeQuery(" & ".join(parts)) if parts else None


CONDITION = """
SELECT operator || '(' || phrase::text || ')'
FROM unnest(%s::text[], %s::text[]) AS asked (words, operator),
     phraseto_tsquery(%s::regconfig, asked.words) AS phrase
WHERE numnode(phrase) > 0
"""


def terms(
    ranked: str,
    *,
    project_id: uuid.UUID,
    corpus: str,
    language: str,
    using: str = DEFAULT_DB_ALIAS,
) -> list[Term]:
    """The lexemes of a query with their weights in a project, rarest first.

    An unknown lexeme counts as standing in one document, because 1 is not stored.
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
    with connections[using].cursor() as cursor:
        cursor.execute(TERMS, params)
        rows = cursor.fetchall()
    return [
        Term(lexeme, index, df, idf(df, max(documents, df)), count, tuple(tiers))
        for lexeme, index, df, count, documents, tiers in rows
    ]


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


class Sought(NamedTuple):
    """The tsquery of candidate rows, and whether these are all that hold a lexeme."""

    tsquery: str
    is_all: bool


def candidates(found: Sequence[Term], arms: Iterable[str]) -> Sought:
    """An arm, and any of the lexemes: about CANDIDATE_ROWS, not below LEAST_ROWS.

    Rarest first, each has all of its rows taken or only the best, as there is room.
    """
    taken: list[str] = []
    rows = 0
    for term in found:
        room = CANDIDATE_ROWS - rows
        posting = next((each for each in term.postings if each.rows <= room), None)
        if posting is None and rows < LEAST_ROWS:
            posting = term.postings[-1]
        if posting:
            taken.append(posting.lexeme)
            rows += posting.rows
    is_all = taken == [term.lexeme for term in found]
    return Sought(_within(arms, taken), is_all)


def every(found: Sequence[Term], arms: Iterable[str]) -> str:
    """The tsquery of all rows of an arm that hold any of the lexemes."""
    return _within(arms, (term.lexeme for term in found))


def _within(arms: Iterable[str], lexemes: Iterable[str]) -> str:
    return f"({any_of(arms)}) & ({any_of(lexemes)})"


def any_of(lexemes: Iterable[str]) -> str:
    quoted = (
        "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"
        for lexeme in lexemes
    )
    return " | ".join(quoted)

"""BM25, the keyword lane's score: docs/ranking.md, "Keyword lane".

Each row stores its own share, without the idf: the SQL function `bm25_terms` of the first
migration fills `content_terms`. A query weighs its lexemes here; the score of a row is the
inner product of the two.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS
from django.db.models import F, FloatField, Func, Value

from common.db import execute_many
from search import tokenise
from search.columns import DIMENSIONS, TIERS
from search.row_filter import SqlFragment

# A long query, such as a pasted report, is cut to its rarest lexemes. Measured on reports
# of 35 to 171 lexemes: all of them lose 0.02 nDCG@10 against 64, 32 lose 0.05.
MAX_TERMS = 64
# Saturation of a lexeme that the query repeats (Robertson's k3, usually 7 to 8).
REPETITION = 8.0
# The largest value that one lexeme can have in `bm25_terms`: k1 + 1.
MAX_TERM_SCORE = 2.2

QUERY_WEIGHTS = "SELECT %s::sparsevec AS weights"
# The BM25 score of a row, beside a common table expression `question` of QUERY_WEIGHTS.
RELEVANCE = "-(content_terms <#> (SELECT weights FROM question))"


@dataclass(frozen=True)
class Term:
    """A lexeme of a query; `count` is how often the query repeats it.

    `df` of the project's `documents` hold it. `tiers` has the number of rows in each of
    TIERS, None where it is not counted.
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


class TermLookup(NamedTuple):
    """A query's terms, rarest first, and the value of the extra statement."""

    terms: list[Term]
    extra: Any = None


def look_up_terms(
    ranked: str,
    *,
    project_id: uuid.UUID,
    corpus: str,
    language: str,
    using: str = DEFAULT_DB_ALIAS,
    extra: SqlFragment | None = None,
) -> TermLookup:
    """Return the lexemes of a query with their weights in a project.

    An unknown lexeme counts as standing in one document, because 1 is not stored.
    `extra` is a statement of one value, sent along to save a round trip.
    """
    words, identifiers = tokenise.separate_words(ranked), tokenise.compounds(ranked)
    params: list[Any] = [
        language,
        words,
        identifiers,
        project_id,
        corpus,
        list(TIERS),
        MAX_TERMS,
    ]
    *values, rows = execute_many(
        *([extra] if extra else []), (TERM_LOOKUP, params), using=using
    )
    terms = [
        Term(lexeme, index, df, max(documents, df), count, tuple(tiers))
        for lexeme, index, df, count, documents, tiers in rows
    ]
    return TermLookup(terms, values[0][0][0] if values else None)


TERM_LOOKUP = """
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


def weights_literal(terms: Sequence[Term]) -> str:
    """The weights of a query's lexemes as a sparsevec literal."""
    by_index = {term.index: term.weight for term in terms}
    elements = ",".join(f"{i}:{value:.6f}" for i, value in sorted(by_index.items()))
    return f"{{{elements}}}/{DIMENSIONS}"


def relevance(terms: Sequence[Term]) -> Func:
    """RELEVANCE as an expression of the ORM."""
    return Func(
        F("content_terms"),
        Value(weights_literal(terms)),
        template="(-(%(expressions)s::sparsevec))",
        arg_joiner=" <#> ",
        output_field=FloatField(),
    )


def max_score(terms: Sequence[Term]) -> float:
    """The BM25 score of a row in which every term of the query is saturated."""
    return MAX_TERM_SCORE * sum(term.weight for term in terms) or 1.0

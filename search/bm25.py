"""Compute BM25, the score of the keyword lane: docs/ranking.md, "Keyword lane".

Each row stores the factors of its lexemes, without the idf, in `content_terms`. The SQL
function `bm25_terms` of the first migration computes these factors. This module
computes the weights of a query's lexemes. The score of a row is the inner product of
its factors and the query's weights.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS

from common.db import execute_many
from common.text import tokenise
from search.columns import DIMENSIONS, STOP_WORDS, TIERS
from search.row_filter import SqlFragment

# A long query, such as a pasted report, is cut to its rarest lexemes. This was measured
# on reports of 35 to 171 lexemes. Compared with 64 lexemes, a search with all lexemes
# loses 0.02 nDCG@10, and a search with 32 lexemes loses 0.05.
MAX_TERMS = 64
# This constant limits the weight of a lexeme that the query repeats. It is Robertson's
# k3, usually 7 to 8.
REPETITION = 8.0
# The largest value that one lexeme can have in `bm25_terms`: k1 + 1.
MAX_TERM_SCORE = 2.2

QUERY_WEIGHTS = "SELECT %s::sparsevec AS weights"
# The SQL of a row's BM25 score. The statement must also have the common table
# expression `question` with QUERY_WEIGHTS.
RELEVANCE = "-(content_terms <#> (SELECT weights FROM question))"


@dataclass(frozen=True)
class Term:
    """A lexeme of a query; `count` is how often the query repeats it.

    The project has `documents` texts, and `df` of them hold the lexeme. `tiers` has the
    number of rows for each of TIERS, or None for a tier that is not counted.
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

    A lexeme without a stored count is treated as if one document held it, because a
    count of 1 is not stored. `extra` is a statement that selects one value. It is sent
    in the same message, which saves a round trip.
    """
    words = tokenise.index_text(ranked)
    params: list[Any] = [
        [language] * 2,
        [words.exact, words.folded if words.has_folds else ""],
        tokenise.compounds(ranked),
        tokenise.names_in_capitals(ranked),
        language,
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


TERM_LOOKUP = f"""
WITH words AS (
    SELECT lexeme, cardinality(positions) AS count
    FROM unnest(%s::regconfig[], %s::text[]) AS asked (language, words),
         unnest(to_tsvector(language, words))
    UNION ALL SELECT unnest(%s::text[]), 1
    UNION ALL SELECT word, 1 FROM ({STOP_WORDS}) AS names
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


def max_score(terms: Sequence[Term]) -> float:
    """Return the highest BM25 score that any row can have for these terms."""
    return MAX_TERM_SCORE * sum(term.weight for term in terms) or 1.0

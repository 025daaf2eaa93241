"""What a person typed, and the lexemes that it means in a project."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib.postgres.search import SearchQuery
from django.db import connection

from common import text
from search.fields import CONFIG, DIMENSIONS, LONGEST_LEXEME

# Rarest lexemes are taken until this many rows may match (03, "Keyword lane":
# the top 10 then agree with uncapped BM25 in 0.957 of cases).
CANDIDATE_ROWS = 2_000
# A query is a sentence or a pasted error; its rarest lexemes decide.
MOST_TERMS = 64

_PHRASE = re.compile(r'"([^"]{1,500})"')
_EXCLUDED = re.compile(r"(?:^|(?<=\s))-(?=[^\W\d_])([\w.-]{1,100})(?=\s|$)")


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
    def condition(self) -> SearchQuery | None:
        """What every hit must fulfil in any mode; None when nothing was quoted."""
        parts = [
            SearchQuery(phrase, config=CONFIG, search_type="phrase")
            for phrase in self.phrases
        ] + [
            ~SearchQuery(word, config=CONFIG, search_type="phrase")
            for word in self.excluded
        ]
        if not parts:
            return None
        whole = parts[0]
        for part in parts[1:]:
            whole = whole & part
        return whole


@dataclass(frozen=True)
class Term:
    lexeme: str
    index: int
    df: int
    idf: float


def parse(query: str) -> Parsed:
    """Take out `"quoted phrases"` and `-words`; the words of a phrase rank as well."""
    phrases = tuple(_PHRASE.findall(query))
    rest = _PHRASE.sub(lambda found: found[1], query)
    excluded = tuple(_EXCLUDED.findall(rest))
    ranked = _EXCLUDED.sub(" ", rest)
    # Nothing but exclusions finds nothing: read them as words.
    if not ranked.strip():
        return Parsed(query)
    return Parsed(ranked, phrases, excluded)


def terms(ranked: str, *, project_id: uuid.UUID, corpus: str) -> list[Term]:
    """The lexemes of a query with their weights in a project, rarest first.

    An unknown lexeme counts as standing in one document, because 1 is not stored.
    """
    whole = [w.lower() for w in text.identifiers(ranked) if len(w) <= LONGEST_LEXEME]
    with connection.cursor() as cursor:
        cursor.execute(TERMS, [CONFIG, ranked, whole, project_id, corpus, MOST_TERMS])
        rows = cursor.fetchall()
    return [
        Term(lexeme, index, df, idf(df, max(documents, df)))
        for lexeme, index, df, documents in rows
    ]


TERMS = """
WITH asked AS (
    SELECT lexeme FROM unnest(to_tsvector(%s::regconfig, %s))
    UNION SELECT unnest(%s::text[])
), corpus AS (
    SELECT id, documents FROM search_corpus WHERE project_id = %s AND name = %s
)
SELECT asked.lexeme, lexeme_index(asked.lexeme), coalesce(stat.df, 1) AS df,
       coalesce((SELECT documents FROM corpus), 0)
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
    """The idf vector of a query as a sparsevec literal."""
    by_index = {term.index: term.idf for term in found}
    parts = ",".join(f"{i}:{value:.6f}" for i, value in sorted(by_index.items()))
    return f"{{{parts}}}/{DIMENSIONS}"


def candidates(found: Sequence[Term], arms: Iterable[str]) -> str:
    """The tsquery that fetches candidate rows: an arm, and any of the rarest lexemes."""
    taken: list[str] = []
    rows = 0
    for term in found:
        if taken and rows + term.df > CANDIDATE_ROWS:
            break
        taken.append(term.lexeme)
        rows += term.df
    return f"({any_of(arms)}) & ({any_of(taken)})"


def any_of(lexemes: Iterable[str]) -> str:
    quoted = (
        "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"
        for lexeme in lexemes
    )
    return " | ".join(quoted)

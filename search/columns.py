"""The two columns that a searchable model has, and how they are filled."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db.models import Expression, F, Func
from pgvector.django import SparseVectorField

from search import tokenise

# A hashed lexeme is a 28-bit number: 268 million buckets, so that two lexemes of
# one query practically never share one. SQL function `lexeme_index`.
DIMENSIONS = 2**28
# Before a lexeme: the rows in which it adds at least so much to a BM25 score before the
# idf. SQL function `with_tiers`.
TIERS = {"↑": 1.5, "⇈": 1.8}
# Columns of a searchable model that only search reads: they are wide.
SEARCH_COLUMNS = ("content_tsv", "content_terms")


def search_columns_of(*relations: str) -> list[str]:
    """SEARCHED of the rows that these relations lead to, for `defer`."""
    return [f"{relation}__{name}" for relation in relations for name in SEARCH_COLUMNS]


class TermsField(SparseVectorField):
    """Hashed lexeme → its share of a BM25 score before the idf: `bm25_terms`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"dimensions": DIMENSIONS} | kwargs)


def terms_of(column: str) -> Func:
    return Func(F(column), function="bm25_terms", output_field=TermsField())


def partition_lexeme(kind: str, owner: object) -> str:
    """The lexeme of all rows of one owner, among those of their words."""
    return f"{kind}:{owner}"


def lexeme_in_partition(arm: str, lexeme: str) -> str:
    """The lexeme of an arm's rows, as the index knows it: SQL function `within_arms`.

    Two may be the same by accident: rows of another arm pass no condition, and a lexeme
    is taken for another of its project once in four thousand million.
    """
    return (
        arm[-8:] + hashlib.md5(lexeme.encode(), usedforsecurity=False).hexdigest()[:8]
    )


def lexeme_gin_index(name: str) -> GinIndex:
    """The index of `content_tsv` by arms; fastupdate would make searches scan a list."""
    key = Func(F("content_tsv"), function="within_arms")
    return GinIndex(key, name=name, fastupdate=False)


def lexemes(
    *, strong: str, body: str, weak: str = "", arms: list[str], language: str
) -> Lexemes:
    """The value of `content_tsv`: stemmed words, whole identifiers, and the arms.

    `language` is the text-search configuration that stems them. `strong` (title, key)
    weighs A, `body` B, `weak` (goal, result, tags) D; the weights tell the fields apart
    in the index, and what they are worth stands in `bm25_terms`. Identifiers also stay
    whole, so that `src/auth.py` or `--force` match as typed. What adds much to a score
    stands in its TIERS too. Where the texts are too long, the weaker one loses its end.
    """
    whole = tokenise.compounds(f"{strong}\n{body}\n{weak}")
    weighted: dict[str, str] = {}
    left = tokenise.MAX_CHARACTERS
    for weight, part in (("A", strong), ("B", body), ("D", weak)):
        weighted[weight] = tokenise.separate_words(part, left)
        left -= len(weighted[weight])
    return Lexemes(weighted, whole=arms + whole, language=language)


class Lexemes(Expression):
    """The value of a tsvector column, from its words by weight and its whole lexemes.

    One expression with its own SQL: built of one for each function, it took longer to
    compile than to run.
    """

    def __init__(
        self, weighted: Mapping[str, str], *, whole: Sequence[str], language: str
    ) -> None:
        super().__init__(output_field=SearchVectorField())
        self.weighted = [each for each in weighted.items() if each[1]]
        self.whole = list(whole)
        self.language = language

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        sql, params = "", []
        for weight, part in self.weighted:
            sql += f"setweight(to_tsvector(%s::regconfig, %s), '{weight}') || "
            params += [self.language, part]
        sql = f"with_tiers({sql}array_to_tsvector(%s::text[]))"
        return sql, (*params, self.whole)

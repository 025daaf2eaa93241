"""The two columns of a searchable model, and the expressions that fill them.

The rows of one owner are a partition. Each row holds a lexeme for each of its
partitions: `p:ID` for a project, `o:ID` for an organization. The index holds every
lexeme once per partition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db.models import Expression, F, Func
from pgvector.django import SparseVectorField

from common.text import tokenise
from common.text.tokenise import IndexedText

# The SQL function `lexeme_index` hashes a lexeme to 28 bits: 268 million buckets, so that
# two lexemes of one query practically never share one.
DIMENSIONS = 2**28
# {prefix: the lowest BM25 score, before the idf, that a lexeme with this prefix adds to
# its row}. The SQL function `with_tiers` adds the lexemes with their prefixes.
TIERS = {"↑": 1.5, "⇈": 1.8}
# These columns are wide, and only search reads them.
SEARCH_COLUMNS = ("content_tsv", "content_terms")


def search_columns_of(*relations: str) -> list[str]:
    """Return the names of SEARCH_COLUMNS behind each of these relations, for `defer`."""
    return [f"{relation}__{name}" for relation in relations for name in SEARCH_COLUMNS]


class TermsField(SparseVectorField):
    """A column of {hashed lexeme: its BM25 score before the idf}; `bm25_terms` computes it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"dimensions": DIMENSIONS} | kwargs)


def terms_of(column: str) -> Func:
    return Func(F(column), function="bm25_terms", output_field=TermsField())


def partition_lexeme(kind: str, owner: object) -> str:
    """Return the lexeme that marks all rows of one owner."""
    return f"{kind}:{owner}"


def lexeme_in_partition(partition: str, lexeme: str) -> str:
    """Return the index key of a lexeme within one partition.

    The SQL function `within_arms` makes the same keys. Two keys can be equal by chance.
    If the other row is in another partition, the other conditions of the search exclude
    the row. Within one project, the chance that two lexemes have the same key is one in
    four thousand million.
    """
    digest = hashlib.md5(lexeme.encode(), usedforsecurity=False).hexdigest()
    return partition[-8:] + digest[:8]


def lexeme_gin_index(name: str) -> GinIndex:
    """Return the index of `content_tsv` by partition.

    The index has no fastupdate, because with fastupdate every search also scans a list
    of new rows.
    """
    key = Func(F("content_tsv"), function="within_arms")
    return GinIndex(key, name=name, fastupdate=False)


def lexemes(
    *, strong: str, body: str, weak: str = "", partitions: list[str], language: str
) -> Lexemes:
    """Return the value of `content_tsv`: stemmed words, whole identifiers, and the partitions.

    `language` is the text-search configuration that stems the words. The text `strong`
    (title, key) has weight A, `body` has weight B, and `weak` (goal, result, tags) has
    weight D. In the index, these weights show from which field a word comes.
    `bm25_terms` gives each weight its factor. Identifiers are also kept whole, so that
    a search for `src/auth.py` or `--force` matches the text as typed. Words without their
    accents are lexemes beside the words. A lexeme that
    adds much to a score is also stored with the prefix of its tier in TIERS. If the
    texts are too long together, the end of the text with the lower weight is cut.
    """
    text = f"{strong}\n{body}\n{weak}"
    weighted: dict[str, IndexedText] = {}
    room = tokenise.MAX_CHARACTERS
    for weight, field in (("A", strong), ("B", body), ("D", weak)):
        weighted[weight] = tokenise.index_text(field, room)
        room -= weighted[weight].length
    return Lexemes(
        weighted,
        whole=partitions + tokenise.compounds(text),
        names=tokenise.names_in_capitals(text),
        language=language,
    )


class Lexemes(Expression):
    """The value of a tsvector column, from its words by weight and its whole lexemes.

    `names` are lexemes too if the language has them as stop words. This is one expression
    with its own SQL. Nested expressions, one for each function, took longer to compile
    than to run.
    """

    def __init__(
        self,
        weighted: Mapping[str, IndexedText],
        *,
        whole: Sequence[str],
        names: Sequence[str],
        language: str,
    ) -> None:
        super().__init__(output_field=SearchVectorField())
        self.weighted = [each for each in weighted.items() if each[1].exact]
        self.whole = list(whole)
        self.names = list(names)
        self.language = language

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        sql, params = "", list[Any]()
        for weight, text in self.weighted:
            vector = "to_tsvector(%s::regconfig, %s)"
            params += [self.language, text.exact]
            if text.has_folds:
                # A concatenation of vectors would count the positions on. A folded word
                # has the place of its word.
                vector = f"({vector}::text || ' ' || {vector}::text)::tsvector"
                params += [self.language, text.folded]
            sql += f"setweight({vector}, '{weight}') || "
        sql += "array_to_tsvector(%s::text[]"
        params.append(self.whole)
        if self.names:
            sql += f" || ARRAY({STOP_WORDS})"
            params += [self.names, self.language]
        return f"with_tiers({sql}))", tuple(params)


# Those of some words that a language does not index.
STOP_WORDS = (
    "SELECT word FROM unnest(%s::text[]) AS word"
    " WHERE to_tsvector(%s::regconfig, word) = ''"
)

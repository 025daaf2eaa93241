"""What a person typed, and the lexemes that it means in a project."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from django.contrib.postgres.search import SearchQuery
from django.db import DEFAULT_DB_ALIAS, connections

from search import semantic, words
from search.fields import DIMENSIONS, TIERS, within_arm

# The rows that a search looks at, by what is known of their lexemes. What more costs and
# gains, and the next four numbers: docs/ranking.md, "Candidate rows".
CANDIDATE_ROWS = 1_000
# So many are looked at in any case: as many as the lane gives.
LEAST_ROWS = semantic.DEPTH
# So many of the rarest lexemes are asked for together too, two and three of them.
FEW, TOGETHER = 4, (2, 3)
# Two lexemes of a query stand in one text so much more often than by chance.
OFTENER = 2.0
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
    """Rows that hold all of some lexemes: about how many, and about what they score.

    `known` are the lexemes that such a row holds for sure, these among them.
    """

    lexemes: tuple[str, ...]
    rows: float
    score: float
    known: frozenset[str]

    def covers(self, other: Posting) -> bool:
        """Whether the other's rows are among these."""
        return other.known.issuperset(self.lexemes)


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

    @property
    def postings(self) -> Iterator[Posting]:
        """All its rows, then fewer and fewer of its best."""
        # A lexeme adds about 1 in a middling row.
        counted = [("", 1.0, self.df), *_counted(self.tiers)]
        known: frozenset[str] = frozenset()
        for tier, least, rows in counted:
            lexeme = tier + self.lexeme
            known |= {lexeme}
            yield Posting((lexeme,), rows, least * self.weight, known)


def _counted(tiers: Iterable[int | None]) -> Iterator[tuple[str, float, int]]:
    for (tier, least), rows in zip(TIERS.items(), tiers, strict=False):
        if rows:
            yield tier, least, rows


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
) -> Condition | None:
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
                language,
                [words.spaced(phrase) for phrase, _ in wanted + unwanted],
                [operator for _, operator in wanted + unwanted],
            ],
        )
        rows = cursor.fetchall()
    if not rows:
        return None
    held = [lexeme for _, lexemes in rows for lexeme in lexemes]
    return Condition(LexemeQuery(" & ".join(part for part, _ in rows)), tuple(held))


CONDITION = """
SELECT operator || '(' || phrase::text || ')',
       CASE operator WHEN '' THEN tsvector_to_array(to_tsvector(language, asked.words))
       ELSE '{}' END
FROM (SELECT %s::regconfig AS language) AS given,
     unnest(%s::text[], %s::text[]) AS asked (words, operator),
     phraseto_tsquery(language, asked.words) AS phrase
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
        Term(lexeme, index, df, max(documents, df), count, tuple(tiers))
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
    """The postings of candidate rows, and whether these are all that hold a lexeme."""

    tsquery: str
    postings: tuple[tuple[str, ...], ...]
    is_all: bool


def candidates(
    found: Sequence[Term],
    arms: Iterable[str],
    held: Iterable[str],
    most: float,
) -> Sought:
    """Rows of an arm that hold any of the lexemes and all that are `held`.

    About `most`, those that score highest by what is known without looking at them, but
    not below LEAST_ROWS.
    """
    postings = _everything(found)
    if _rows(postings) > most:
        postings = _promising(found, most)
    lexemes = tuple(posting.lexemes for posting in postings)
    is_all = set(lexemes) == {(term.lexeme,) for term in found}
    return Sought(within(arms, lexemes, held), lexemes, is_all)


def _everything(found: Iterable[Term]) -> list[Posting]:
    return [next(term.postings) for term in found]


def _promising(found: Sequence[Term], most: float) -> list[Posting]:
    taken: list[Posting] = []
    left: list[Posting] = []
    for posting in sorted(_postings(found), key=lambda each: -each.score):
        more = _with(taken, posting)
        if _rows(more) <= most:
            taken = more
        else:
            left.append(posting)
    for posting in sorted(left, key=lambda each: each.rows):
        if _rows(taken) >= LEAST_ROWS:
            break
        taken = _with(taken, posting)
    return taken


def _with(taken: list[Posting], posting: Posting) -> list[Posting]:
    return [*(each for each in taken if not posting.covers(each)), posting]


def _rows(postings: Iterable[Posting]) -> float:
    return sum(posting.rows for posting in postings)


def _postings(found: Sequence[Term]) -> Iterator[Posting]:
    """Of each lexeme, and of several of the rarest together."""
    for term in found:
        yield from term.postings
    for size in TOGETHER:
        for several in combinations(found[:FEW], size):
            rows = _rows_of_all(several)
            # Else the rarest of them finds as few.
            if rows < several[0].df:
                lexemes = tuple(term.lexeme for term in several)
                score = sum(term.weight for term in several)
                yield Posting(lexemes, rows, score, frozenset(lexemes))


def _rows_of_all(several: Sequence[Term]) -> float:
    """About how many rows hold all of these."""
    # A part of an identifier stands wherever the whole does.
    apart = [
        term
        for term in several
        if not any(_is_part(term.lexeme, other.lexeme) for other in several)
    ]
    documents = several[0].documents
    by_chance = documents * math.prod(term.df / documents for term in apart)
    return by_chance * OFTENER ** (len(apart) - 1)


def _is_part(lexeme: str, other: str) -> bool:
    return lexeme != other and lexeme in other


def within(
    arms: Iterable[str], postings: Iterable[Sequence[str]], held: Iterable[str] = ()
) -> str:
    """The tsquery of the rows of any arm that hold a posting, and all that is held."""
    postings, held = list(postings), list(held)
    return " | ".join(_of_arm(arm, postings, held) for arm in arms)


def _of_arm(arm: str, postings: Sequence[Sequence[str]], held: Sequence[str]) -> str:
    def all_of(lexemes: Sequence[str]) -> str:
        return " & ".join(f"'{within_arm(arm, lexeme)}'" for lexeme in lexemes)

    any_posting = " | ".join(f"({all_of(lexemes)})" for lexemes in postings)
    parts = [f"({any_posting})"] if postings else []
    return " & ".join([*parts, all_of(held)] if held else parts)

"""Choose the rows that the keyword lane scores: docs/ranking.md, "Candidate rows"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from search import semantic
from search.bm25 import Term
from search.columns import TIERS, lexeme_in_partition

# Rows scored in one search, chosen by the counts of their lexemes. docs/ranking.md,
# "Candidate rows", has the measurements behind this number and the next four.
CANDIDATE_ROWS = 1_000
# At least this many rows are scored, because the lane returns this many rows.
MIN_ROWS = semantic.DEPTH
# Each pair and each triple of the FEW rarest lexemes also makes a posting.
FEW, TOGETHER = 4, (2, 3)
# Two lexemes of a query occur in one text this many times more often than by chance.
COOCCURRENCE = 2.0

MATCHES_TSQUERY = "within_arms(content_tsv) @@ %s::tsquery"


class Posting(NamedTuple):
    """The rows that hold all of `lexemes`, with estimates of their number and their score.

    `known` has all lexemes that such a row is known to hold, including `lexemes`.
    """

    lexemes: tuple[str, ...]
    rows: float
    score: float
    known: frozenset[str]

    def covers(self, other: Posting) -> bool:
        """Return whether this posting includes all rows of the other posting."""
        return other.known.issuperset(self.lexemes)


class CandidateQuery(NamedTuple):
    """The postings of candidate rows; if `is_all`, no other row holds a lexeme of the query."""

    tsquery: str
    postings: tuple[tuple[str, ...], ...]
    is_all: bool


def build_candidate_query(
    terms: Sequence[Term],
    partitions: Iterable[str],
    required: Iterable[str],
    limit: float,
) -> CandidateQuery:
    """Build the query for rows of a partition with any lexeme of the terms.

    Each row also holds all `required` lexemes. The query matches about `limit` rows,
    but at least MIN_ROWS. These are the rows for which the counts of lexemes promise
    the highest scores.
    """
    postings = [_postings_of_term(term)[0] for term in terms]
    if _row_count(postings) > limit:
        postings = _choose_postings(terms, limit)
    lexemes = tuple(posting.lexemes for posting in postings)
    is_all = set(lexemes) == {(term.lexeme,) for term in terms}
    tsquery = partition_tsquery(partitions, lexemes, required)
    return CandidateQuery(tsquery, lexemes, is_all)


def _choose_postings(terms: Sequence[Term], limit: float) -> list[Posting]:
    chosen: list[Posting] = []
    rest: list[Posting] = []
    for posting in sorted(_all_postings(terms), key=lambda each: -each.score):
        more = _add(chosen, posting)
        if _row_count(more) <= limit:
            chosen = more
        else:
            rest.append(posting)
    for posting in sorted(rest, key=lambda each: each.rows):
        if _row_count(chosen) >= MIN_ROWS:
            break
        chosen = _add(chosen, posting)
    return chosen


def _add(chosen: list[Posting], posting: Posting) -> list[Posting]:
    return [*(each for each in chosen if not posting.covers(each)), posting]


def _row_count(postings: Iterable[Posting]) -> float:
    return sum(posting.rows for posting in postings)


def _all_postings(terms: Sequence[Term]) -> Iterator[Posting]:
    """Return the postings of each lexeme, and of pairs and triples of the rarest lexemes."""
    for term in terms:
        yield from _postings_of_term(term)
    for size in TOGETHER:
        for several in combinations(terms[:FEW], size):
            rows = _estimate_rows(several)
            # Without this condition, the rarest of these lexemes alone matches as few
            # rows.
            if rows < several[0].df:
                lexemes = tuple(term.lexeme for term in several)
                score = sum(term.weight for term in several)
                yield Posting(lexemes, rows, score, frozenset(lexemes))


def _postings_of_term(term: Term) -> list[Posting]:
    """Yield the posting of all rows of a lexeme, then the posting of each counted tier."""
    # A lexeme adds about 1 in a middling row.
    counts: list[tuple[str, float, int | None]] = [("", 1.0, term.df)]
    for (tier, min_score), rows in zip(TIERS.items(), term.tiers, strict=False):
        counts.append((tier, min_score, rows))
    postings = list[Posting]()
    known = frozenset[str]()
    for tier, min_score, rows in counts:
        if rows:
            lexeme = tier + term.lexeme
            known |= {lexeme}
            postings.append(Posting((lexeme,), rows, min_score * term.weight, known))
    return postings


def _estimate_rows(terms: Sequence[Term]) -> float:
    """Estimate how many rows hold all of these terms."""
    # A text with the whole identifier also has each part of the identifier.
    independent = [
        term
        for term in terms
        if not any(_is_part(term.lexeme, other.lexeme) for other in terms)
    ]
    documents = terms[0].documents
    by_chance = documents * math.prod(term.df / documents for term in independent)
    return by_chance * COOCCURRENCE ** (len(independent) - 1)


def _is_part(lexeme: str, other: str) -> bool:
    return lexeme != other and lexeme in other


def partition_tsquery(
    partitions: Iterable[str],
    postings: Iterable[Sequence[str]],
    required: Iterable[str] = (),
) -> str:
    """Return the tsquery for rows of any partition with a posting and all required lexemes."""
    postings, required = list(postings), list(required)
    return " | ".join(_one_partition(each, postings, required) for each in partitions)


def _one_partition(
    partition: str, postings: Sequence[Sequence[str]], required: Sequence[str]
) -> str:
    def all_of(lexemes: Sequence[str]) -> str:
        keys = (lexeme_in_partition(partition, lexeme) for lexeme in lexemes)
        return " & ".join(f"'{key}'" for key in keys)

    any_posting = " | ".join(f"({all_of(lexemes)})" for lexemes in postings)
    conditions = [f"({any_posting})"] if postings else []
    return " & ".join([*conditions, all_of(required)] if required else conditions)

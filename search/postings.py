"""The rows that the keyword lane looks at: docs/ranking.md, "Candidate rows"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from search import semantic
from search.bm25 import Term
from search.columns import TIERS, lexeme_in_partition

# The rows that a search looks at, by what is known of their lexemes. What more costs and
# gains, and the next four numbers: docs/ranking.md, "Candidate rows".
CANDIDATE_ROWS = 1_000
# So many are looked at in any case: as many as the lane gives.
MIN_ROWS = semantic.DEPTH
# So many of the rarest lexemes are asked for together too, two and three of them.
FEW, TOGETHER = 4, (2, 3)
# Two lexemes of a query stand in one text so much more often than by chance.
COOCCURRENCE = 2.0


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


class CandidateQuery(NamedTuple):
    """The postings of candidate rows, and whether these are all that hold a lexeme."""

    tsquery: str
    postings: tuple[tuple[str, ...], ...]
    is_all: bool


def build_candidate_query(
    found: Sequence[Term],
    arms: Iterable[str],
    held: Iterable[str],
    most: float,
) -> CandidateQuery:
    """Rows of an arm that hold any of the lexemes and all that are `held`.

    About `most`, those that score highest by what is known without looking at them, but
    not below LEAST_ROWS.
    """
    postings = [_postings_of_term(term)[0] for term in found]
    if _row_count(postings) > most:
        postings = _choose_postings(found, most)
    lexemes = tuple(posting.lexemes for posting in postings)
    is_all = set(lexemes) == {(term.lexeme,) for term in found}
    return CandidateQuery(partition_tsquery(arms, lexemes, held), lexemes, is_all)


def _choose_postings(found: Sequence[Term], most: float) -> list[Posting]:
    taken: list[Posting] = []
    left: list[Posting] = []
    for posting in sorted(_all_postings(found), key=lambda each: -each.score):
        more = _add(taken, posting)
        if _row_count(more) <= most:
            taken = more
        else:
            left.append(posting)
    for posting in sorted(left, key=lambda each: each.rows):
        if _row_count(taken) >= MIN_ROWS:
            break
        taken = _add(taken, posting)
    return taken


def _add(taken: list[Posting], posting: Posting) -> list[Posting]:
    return [*(each for each in taken if not posting.covers(each)), posting]


def _row_count(postings: Iterable[Posting]) -> float:
    return sum(posting.rows for posting in postings)


def _all_postings(found: Sequence[Term]) -> Iterator[Posting]:
    """Of each lexeme, and of several of the rarest together."""
    for term in found:
        yield from _postings_of_term(term)
    for size in TOGETHER:
        for several in combinations(found[:FEW], size):
            rows = _estimate_rows(several)
            # Else the rarest of them finds as few.
            if rows < several[0].df:
                lexemes = tuple(term.lexeme for term in several)
                score = sum(term.weight for term in several)
                yield Posting(lexemes, rows, score, frozenset(lexemes))


def _postings_of_term(term: Term) -> list[Posting]:
    """All rows of a lexeme, then fewer and fewer of its best, where they are counted."""
    # A lexeme adds about 1 in a middling row.
    counted: list[tuple[str, float, int | None]] = [("", 1.0, term.df)]
    for (tier, least), rows in zip(TIERS.items(), term.tiers, strict=False):
        counted.append((tier, least, rows))
    found = list[Posting]()
    known = frozenset[str]()
    for tier, least, rows in counted:
        if rows:
            lexeme = tier + term.lexeme
            known |= {lexeme}
            found.append(Posting((lexeme,), rows, least * term.weight, known))
    return found


def _estimate_rows(several: Sequence[Term]) -> float:
    """About how many rows hold all of these."""
    # A part of an identifier stands wherever the whole does.
    apart = [
        term
        for term in several
        if not any(_is_part(term.lexeme, other.lexeme) for other in several)
    ]
    documents = several[0].documents
    by_chance = documents * math.prod(term.df / documents for term in apart)
    return by_chance * COOCCURRENCE ** (len(apart) - 1)


def _is_part(lexeme: str, other: str) -> bool:
    return lexeme != other and lexeme in other


def partition_tsquery(
    arms: Iterable[str], postings: Iterable[Sequence[str]], held: Iterable[str] = ()
) -> str:
    """The tsquery of the rows of any arm that hold a posting, and all that is held."""
    postings, held = list(postings), list(held)
    return " | ".join(_one_partition(arm, postings, held) for arm in arms)


def _one_partition(
    arm: str, postings: Sequence[Sequence[str]], held: Sequence[str]
) -> str:
    def all_of(lexemes: Sequence[str]) -> str:
        return " & ".join(f"'{lexeme_in_partition(arm, lexeme)}'" for lexeme in lexemes)

    any_posting = " | ".join(f"({all_of(lexemes)})" for lexemes in postings)
    parts = [f"({any_posting})"] if postings else []
    return " & ".join([*parts, all_of(held)] if held else parts)


MATCHES_TSQUERY = "within_arms(content_tsv) @@ %s::tsquery"

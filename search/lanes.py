"""What the lanes of a search ask and find, and the keyword lane.

It goes first, while the model still makes the vector that the other needs.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db import connections

from search import postings, semantic
from search import query as queries
from search.filtered import Filtered
from search.postings import Sought
from search.query import Term

# So many times CANDIDATE_ROWS are asked, one after the other, until enough pass.
ATTEMPTS = (1, 10, math.inf)


@dataclass(frozen=True)
class Asked:
    """What the lanes look for, and among which rows; None: the filters leave nothing.

    `arms` are the lexemes of the project's rows and of what is shared with it, `held`
    those that every row holds.
    """

    rows: Filtered | None
    project_id: uuid.UUID
    arms: Sequence[str]
    terms: Sequence[Term] = ()
    held: Sequence[str] = ()
    # Where the filters leave fewer than so many of the rows first looked at, others are.
    enough: int = semantic.DEPTH

    @property
    def depth(self) -> int:
        """How many rows the semantic lane gives: of one lane none are needed to fuse."""
        return semantic.DEPTH if self.terms else self.enough


class Candidate(NamedTuple):
    """A row that a lane found, scored in both; no cosine without a vector."""

    id: uuid.UUID
    keyword: float
    cosine: float | None


@dataclass(frozen=True)
class Look:
    """How many of a project's nearest rows were asked for (where too few pass: were
    seen), how many of them pass, and whether that is enough."""

    nearest: int = 0
    passed: int = 0
    is_enough: bool = True


@dataclass(frozen=True)
class Found:
    candidates: list[Candidate] = field(default_factory=list)
    # How many rows each lane found.
    by_words: int = 0
    by_meaning: int = 0
    # The last look at the nearest rows.
    look: Look = field(default_factory=Look)
    # What the keyword lane asked for, at last.
    sought: Sought | None = None


def by_words(asked: Asked) -> Found:
    """BM25 of the best candidate rows: `postings.candidates`.

    When the filters leave few of these, more are asked, and then all rows that hold any
    of the lexemes.
    """
    if asked.rows is None or not asked.terms:
        return Found()
    for times in ATTEMPTS:
        most = times * postings.CANDIDATE_ROWS
        sought = postings.candidates(asked.terms, asked.arms, asked.held, most)
        found = _best(asked, asked.rows, sought, is_last=most == math.inf)
        if len(found) >= asked.enough or sought.is_all:
            break
    return Found(found, by_words=len(found), sought=sought)


def _best(
    asked: Asked, rows: Filtered, sought: Sought, *, is_last: bool
) -> list[Candidate]:
    table = rows.table
    # OFFSET 0: the arm confines the index to the project already; beside it the planner
    # would read all rows of a large project from another index. At last the filters may
    # be the narrower ones.
    fence = "" if is_last else "OFFSET 0"
    condition, params = rows.condition
    sql = f"""
    WITH question AS MATERIALIZED ({QUESTION})
    SELECT id, {RELEVANCE} AS relevance
    FROM (
        SELECT * FROM {table} WHERE {HOLDS} {fence}
    ) AS {table} WHERE {condition}
    ORDER BY 2 DESC, 1 DESC LIMIT {semantic.DEPTH}"""
    with connections[rows.using].cursor() as cursor:
        cursor.execute(sql, [queries.weights(asked.terms), sought.tsquery, *params])
        return [Candidate(pk, value, None) for pk, value in cursor.fetchall()]


QUESTION = "SELECT %s::sparsevec AS weights"
RELEVANCE = "-(content_terms <#> (SELECT weights FROM question))"
HOLDS = "within_arms(content_tsv) @@ %s::tsquery"

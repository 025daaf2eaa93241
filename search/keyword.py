"""What the lanes of a search ask and find, and the keyword lane.

It goes first, while the model still makes the vector that the other needs.
"""

from __future__ import annotations

import math

from django.db import connections

from search import bm25, postings, semantic
from search.bm25 import QUERY_WEIGHTS, RELEVANCE
from search.postings import MATCHES_TSQUERY, CandidateQuery
from search.row_filter import RowFilter
from search.search_plan import Candidate, Candidates, SearchPlan

# So many times CANDIDATE_ROWS are asked, one after the other, until enough pass.
ATTEMPTS = (1, 10, math.inf)


def find_candidates(asked: SearchPlan) -> Candidates:
    """BM25 of the best candidate rows: `postings.candidates`.

    When the filters leave few of these, more are asked, and then all rows that hold any
    of the lexemes.
    """
    if asked.rows is None or not asked.terms:
        return Candidates()
    for times in ATTEMPTS:
        most = times * postings.CANDIDATE_ROWS
        sought = postings.build_candidate_query(
            asked.terms, asked.arms, asked.held, most
        )
        found = _fetch_best(asked, asked.rows, sought, is_last=most == math.inf)
        if len(found) >= asked.enough or sought.is_all:
            break
    return Candidates(found, by_words=len(found), sought=sought)


def _fetch_best(
    asked: SearchPlan, rows: RowFilter, sought: CandidateQuery, *, is_last: bool
) -> list[Candidate]:
    table = rows.table
    # OFFSET 0: the arm confines the index to the project already; beside it the planner
    # would read all rows of a large project from another index. At last the filters may
    # be the narrower ones.
    fence = "" if is_last else "OFFSET 0"
    condition, params = rows.condition
    sql = f"""
    WITH question AS MATERIALIZED ({QUERY_WEIGHTS})
    SELECT id, {RELEVANCE} AS relevance
    FROM (
        SELECT * FROM {table} WHERE {MATCHES_TSQUERY} {fence}
    ) AS {table} WHERE {condition}
    ORDER BY 2 DESC, 1 DESC LIMIT {semantic.DEPTH}"""
    with connections[rows.using].cursor() as cursor:
        cursor.execute(
            sql, [bm25.weights_literal(asked.terms), sought.tsquery, *params]
        )
        return [Candidate(pk, value, None) for pk, value in cursor.fetchall()]

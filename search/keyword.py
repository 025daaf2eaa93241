"""The keyword lane: the rows with the best BM25 scores.

The keyword lane runs first, while the embedding model still makes the query's vector
for the semantic lane.
"""

from __future__ import annotations

import math

from django.db import connections

from search import bm25, postings, semantic
from search.bm25 import QUERY_WEIGHTS, RELEVANCE
from search.postings import MATCHES_TSQUERY, CandidateQuery
from search.row_filter import RowFilter
from search.search_plan import Candidate, Candidates, SearchPlan

# The lane scores CANDIDATE_ROWS times the first number. If too few rows pass the
# filters, the lane tries the next number.
ATTEMPTS = (1, 10, math.inf)


def find_candidates(plan: SearchPlan) -> Candidates:
    """Score the candidate rows of `postings` with BM25 and return the best.

    If too few candidates pass the filters, score more rows. The last attempt scores all
    rows that hold any of the lexemes. Where the filters keep few rows, score these.
    """
    if plan.rows is None or not plan.terms:
        return Candidates()
    if plan.is_narrow:
        return _score_narrow(plan, plan.rows)
    for times in ATTEMPTS:
        limit = times * postings.CANDIDATE_ROWS
        query = postings.build_candidate_query(
            plan.terms, plan.partitions, plan.required_lexemes, limit
        )
        best = _fetch_best(plan, plan.rows, query, is_last=limit == math.inf)
        if len(best) >= plan.enough or query.is_all:
            break
    return Candidates(best, keyword_count=len(best), query=query)


def _score_narrow(plan: SearchPlan, rows: RowFilter) -> Candidates:
    """Score all rows that pass the filters, without the index of lexemes."""
    condition, params = rows.condition
    sql = f"""
    WITH question AS MATERIALIZED ({QUERY_WEIGHTS})
    SELECT id, relevance FROM (
        SELECT id, {RELEVANCE} AS relevance FROM {rows.table} WHERE {condition}
    ) AS scored
    WHERE relevance > 0 ORDER BY 2 DESC, 1 DESC LIMIT {semantic.DEPTH}"""
    with connections[rows.using].cursor() as cursor:
        cursor.execute(sql, [bm25.weights_literal(plan.terms), *params])
        best = [Candidate(pk, score, None) for pk, score in cursor.fetchall()]
    query = postings.build_candidate_query(
        plan.terms, plan.partitions, plan.required_lexemes, math.inf
    )
    return Candidates(best, keyword_count=len(best), query=query)


def _fetch_best(
    plan: SearchPlan, rows: RowFilter, query: CandidateQuery, *, is_last: bool
) -> list[Candidate]:
    table = rows.table
    # OFFSET 0 keeps the planner from another index, through which it would read all rows
    # of a large project; the partition confines this index to the project already. The
    # last attempt is without it, as the filters may be the narrower condition.
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
        cursor.execute(sql, [bm25.weights_literal(plan.terms), query.tsquery, *params])
        return [Candidate(pk, score, None) for pk, score in cursor.fetchall()]

"""Explain how the lanes of a search found rows."""

from __future__ import annotations

from typing import Any

from common.caller import Caller
from memories.models import Memory
from memories.queries import MemoryQuerySet
from search import nearest_rows
from search.bm25 import Term
from search.search import Ranking, RankingRequest


def explain_search(
    request: RankingRequest, ranked: Ranking, rows: MemoryQuerySet, caller: Caller
) -> dict[str, Any]:
    return {
        "rows_after_filters": rows.count(),
        "candidates": dict(ranked.candidates),
        "terms": [_describe_term(term, caller) for term in ranked.terms],
        "keyword_lane": _keyword_lane(ranked, caller),
        "semantic_lane": _semantic_lane(request, ranked, caller),
        "fusion": request.fusion,
        "weights": {
            "keyword": request.keyword_weight,
            "semantic": request.semantic_weight,
        },
    }


def _keyword_lane(ranked: Ranking, caller: Caller) -> dict[str, Any] | None:
    """Describe the terms that the keyword lane searched for.

    The choice of the terms reveals counts over all users. A bound caller gets None.
    """
    if ranked.candidate_query is None or caller.user_id:
        return None
    lexemes = [" & ".join(each) for each in ranked.candidate_query.postings]
    return {"asked": lexemes, "all_rows": ranked.candidate_query.is_all}


def _semantic_lane(
    request: RankingRequest, ranked: Ranking, caller: Caller
) -> dict[str, Any] | None:
    """Describe how the semantic lane found its rows.

    The reason reveals rows of other users. A bound caller gets None.
    """
    if ranked.vector is None:
        return None
    description = nearest_rows.describe_scan(
        ranked.probe, Memory, ranked.vector, request.project_id
    )
    return {"how": description["how"]} if caller.user_id else description


def _describe_term(term: Term, caller: Caller) -> dict[str, Any]:
    """Describe a term with its weight.

    The counts are over all users, so a bound caller gets no counts.
    """
    if caller.user_id:
        return {"lexeme": term.lexeme}
    return {"lexeme": term.lexeme, "df": term.df, "idf": round(term.idf, 4)}

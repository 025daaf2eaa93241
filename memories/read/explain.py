"""Explain a search.

The explanation tells how the lanes of the search found rows, and why a memory is missing
from the answer.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from common import errors
from common.caller import Caller
from memories.models import Memory
from memories.queries import Filters, MemoryQuerySet
from memories.scopes import Scope
from projects.models import Project
from search import nearest_rows, search
from search import parse_query as queries
from search.bm25 import Term
from search.search import Ranking, RankingRequest

# Fields of `Filters` that change how other fields match.
MATCH_OPTIONS = ("include_duplicates", "tags_match")
# PostgreSQL stores at most 255 positions of a word, and stores no position after the
# 16,383rd word.
QUERY_MISMATCH = (
    "a quoted phrase is missing, or it is too far back in the text to be found; or an "
    "excluded word occurs"
)
# These filters leave out no current memory. The filters of a search are then applied one by
# one.
NO_FILTERS = Filters(
    include_duplicates=True, sensitivities=tuple(Memory.Sensitivity.values)
)


@dataclass(frozen=True)
class SearchContext:
    """A search with its settings.

    `explain` repeats the steps of this search.
    """

    project: Project
    ranking_request: RankingRequest
    filters: Filters
    scope: Scope | None
    min_score: float
    limit: int
    caller: Caller
    cutoff: str = "none"


@dataclass(frozen=True)
class DropReason:
    """The reason why a memory is not in the answer.

    The reason is a field of the request or a step of the search.
    """

    by: str
    why: str


def explain_search(
    context: SearchContext, ranked: Ranking, rows: MemoryQuerySet
) -> dict[str, Any]:
    request = context.ranking_request
    return {
        "rows_after_filters": rows.count(),
        "candidates": dict(ranked.candidates),
        "terms": [_describe_term(term, context.caller) for term in ranked.terms],
        "keyword_lane": _keyword_lane(ranked, context.caller),
        "semantic_lane": _semantic_lane(context, ranked),
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


def _semantic_lane(context: SearchContext, ranked: Ranking) -> dict[str, Any] | None:
    """Describe how the semantic lane found its rows.

    The reason reveals rows of other users. A bound caller gets None.
    """
    if ranked.vector is None:
        return None
    project_id = context.ranking_request.project_id
    description = nearest_rows.describe_scan(
        ranked.probe, Memory, ranked.vector, project_id
    )
    return {"how": description["how"]} if context.caller.user_id else description


def _describe_term(term: Term, caller: Caller) -> dict[str, Any]:
    """Describe a term with its weight.

    The counts are over all users, so a bound caller gets no counts.
    """
    if caller.user_id:
        return {"lexeme": term.lexeme}
    return {"lexeme": term.lexeme, "df": term.df, "idf": round(term.idf, 4)}


def find_explainable(memory_id: uuid.UUID, caller: Caller) -> Memory:
    """Return the memory to explain, or refuse if the caller may not read it."""
    rows = Memory.objects.visible_to(caller).readable().light()
    if found := rows.filter(pk=memory_id).first():
        memory: Memory = found
        return memory
    detail = "There is no such memory to explain."
    raise errors.NotFound(detail, missing_ids=[str(memory_id)])


def explain_memory(
    context: SearchContext, ranked: Ranking, memory: Memory
) -> dict[str, Any]:
    """Tell whether a memory is in the answer.

    If the memory is missing, tell the first reason.
    """
    drop = next(_drops(context, ranked, memory), None)
    return {
        "id": str(memory.pk),
        "in_answer": drop is None,
        "dropped_by": drop.by if drop else None,
        "why": drop.why if drop else "",
    }


def _drops(
    context: SearchContext, ranked: Ranking, memory: Memory
) -> Iterator[DropReason]:
    """Yield the reasons why a memory is not in the answer.

    The reasons have the order of a search: scope, filters, query, lanes, limits.
    """
    itself = Memory.objects.visible_to(context.caller).filter(pk=memory.pk)
    if not itself.in_reach(context.project, context.scope).exists():
        yield _out_of_scope(context, memory, itself)
    yield from _drops_by_filters(context.filters, itself)
    request = context.ranking_request
    condition = queries.build_condition(request.parsed_query, request.language)
    if condition and not itself.filter(content_tsv=condition.query).exists():
        yield DropReason("query", QUERY_MISMATCH)
    hit = next((each for each in ranked.hits if each.id == memory.pk), None)
    if hit is None:
        yield DropReason(
            "lanes", _explain_absence(context.ranking_request, ranked, memory)
        )
        return
    if hit.score < context.min_score:
        yield DropReason("min_score", f"its score is {hit.score}")
    if context.cutoff == "auto" and not hit.is_relevant:
        why = "it only comes nearest to the query: too few of its words and meaning"
        yield DropReason("cutoff", why)
    before = ranked.hits[: ranked.hits.index(hit)]
    if context.cutoff == "auto":
        before = [each for each in before if each.is_relevant]
    if len(before) >= context.limit:
        yield DropReason("limit", f"it is number {len(before) + 1}")


def _out_of_scope(
    context: SearchContext, memory: Memory, itself: MemoryQuerySet
) -> DropReason:
    is_shared = itself.in_reach(context.project, None).exists()
    if memory.project_id != context.project.pk and not is_shared:
        return DropReason(
            "project_id", "it belongs to another project and is not shared"
        )
    covered = context.scope.to_dict() if context.scope else "workspace and org"
    return DropReason(
        "scope", f"its scope is {memory.scope}; this search covers {covered}"
    )


def _drops_by_filters(filters: Filters, itself: MemoryQuerySet) -> Iterator[DropReason]:
    if not itself.filter_by(NO_FILTERS).exists():
        yield DropReason("state", "it is archived or superseded")
    if not filters.include_duplicates and itself.filter(is_duplicate=True).exists():
        yield DropReason("include_duplicates", "it is a duplicate")
    for name in (field.name for field in fields(filters)):
        value = getattr(filters, name)
        # If the request has no sensitivities, the default ones filter.
        is_set = name not in MATCH_OPTIONS and (value or name == "sensitivities")
        alone = {"tags_match": filters.tags_match, name: value}
        if is_set and not itself.filter_by(replace(NO_FILTERS, **alone)).exists():
            yield DropReason(name, "it does not match")


def _explain_absence(request: RankingRequest, ranked: Ranking, memory: Memory) -> str:
    """Explain for each lane why the memory is not a candidate of the lane."""
    scores = search.score_row(memory, ranked)
    if not ranked.vector:
        no_vector = "the model did not answer"
    elif memory.is_duplicate:
        no_vector = "it is a duplicate, and only its original is embedded"
    else:
        no_vector = "it has no vector yet"
    reasons = {
        "keyword": "it has none of the words" if not scores.keyword else "",
        "semantic": no_vector if scores.semantic is None else "",
    }
    lanes = ["keyword", "semantic"] if request.mode == "hybrid" else [request.mode]
    return "; ".join(
        f"{lane}: {reasons[lane] or f'{getattr(scores, lane):.4f}, not among its candidates'}"
        for lane in lanes
    )

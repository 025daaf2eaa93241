"""What `explain` tells of a search, and of a memory that the answer does not hold."""

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

# Fields that say how others narrow.
MATCH_OPTIONS = ("include_duplicates", "tags_match")
# PostgreSQL keeps 255 places of a word, and none behind the 16,383rd word.
QUERY_MISMATCH = (
    "a quoted phrase is missing, or stands behind the places that are kept of words; "
    "or an excluded word is there"
)
# Narrows nothing but to what is current; each filter is then asked alone.
NO_FILTERS = Filters(
    include_duplicates=True, sensitivities=tuple(Memory.Sensitivity.values)
)


@dataclass(frozen=True)
class SearchContext:
    """A search as it was asked, for `explain` to look at again."""

    project: Project
    question: RankingRequest
    filters: Filters
    scope: Scope | None
    min_score: float
    limit: int
    caller: Caller


@dataclass(frozen=True)
class DropReason:
    """What kept a memory out of an answer, by the name of its field in the request."""

    by: str
    why: str


def explain_search(
    asked: SearchContext, ranked: Ranking, rows: MemoryQuerySet
) -> dict[str, Any]:
    question = asked.question
    return {
        "rows_after_filters": rows.count(),
        "candidates": dict(ranked.candidates),
        "terms": [_describe_term(term, asked.caller) for term in ranked.terms],
        "keyword_lane": _keyword_lane(ranked, asked.caller),
        "semantic_lane": _semantic_lane(asked, ranked),
        "fusion": question.fusion,
        "weights": {
            "keyword": question.keyword_weight,
            "semantic": question.semantic_weight,
        },
    }


def _keyword_lane(ranked: Ranking, caller: Caller) -> dict[str, Any] | None:
    """What the lane asked for, chosen by the counts; a bound caller sees none of these."""
    if ranked.candidate_query is None or caller.user_id:
        return None
    asked = [" & ".join(lexemes) for lexemes in ranked.candidate_query.postings]
    return {"asked": asked, "all_rows": ranked.candidate_query.is_all}


def _semantic_lane(asked: SearchContext, ranked: Ranking) -> dict[str, Any] | None:
    """How the lane found its rows; why tells of rows that a bound caller never sees."""
    if ranked.vector is None:
        return None
    project_id = asked.question.project_id
    told = nearest_rows.describe_scan(ranked.probe, Memory, ranked.vector, project_id)
    return {"how": told["how"]} if asked.caller.user_id else told


def _describe_term(term: Term, caller: Caller) -> dict[str, Any]:
    """A term with its weight; the counts are of all users, so a bound one gets none."""
    if caller.user_id:
        return {"lexeme": term.lexeme}
    return {"lexeme": term.lexeme, "df": term.df, "idf": round(term.idf, 4)}


def find_explainable(memory_id: uuid.UUID, caller: Caller) -> Memory:
    """The memory that is asked about; to a caller who may not read it there is none."""
    rows = Memory.objects.visible_to(caller).readable().light()
    if found := rows.filter(pk=memory_id).first():
        memory: Memory = found
        return memory
    raise errors.NotFound("There is no such memory to explain.")


def explain_memory(
    asked: SearchContext, ranked: Ranking, memory: Memory
) -> dict[str, Any]:
    """Whether a memory is in the answer, else the first thing that kept it out."""
    drop = next(_drops(asked, ranked, memory), None)
    return {
        "id": str(memory.pk),
        "in_answer": drop is None,
        "dropped_by": drop.by if drop else None,
        "why": drop.why if drop else "",
    }


def _drops(
    asked: SearchContext, ranked: Ranking, memory: Memory
) -> Iterator[DropReason]:
    """In the order in which a search asks: what it covers, filters, lanes, the end."""
    itself = Memory.objects.visible_to(asked.caller).filter(pk=memory.pk)
    if not itself.in_reach(asked.project, asked.scope).exists():
        yield _out_of_scope(asked, memory, itself)
    yield from _drops_by_filters(asked.filters, itself)
    parsed = queries.parse(asked.question.query)
    condition = queries.build_condition(parsed, asked.question.language)
    if condition and not itself.filter(content_tsv=condition.query).exists():
        yield DropReason("query", QUERY_MISMATCH)
    places = {hit.id: place for place, hit in enumerate(ranked.hits)}
    if memory.pk not in places:
        yield DropReason("lanes", _why_not_ranked(asked.question, ranked, memory))
        return
    place = places[memory.pk]
    if (score := ranked.hits[place].score) < asked.min_score:
        yield DropReason("min_score", f"its score is {score}")
    if place >= asked.limit:
        yield DropReason("limit", f"it is number {place + 1}")


def _out_of_scope(
    asked: SearchContext, memory: Memory, itself: MemoryQuerySet
) -> DropReason:
    is_shared = itself.in_reach(asked.project, None).exists()
    if memory.project_id != asked.project.pk and not is_shared:
        return DropReason("project_id", "it is another project's, and not shared")
    covered = asked.scope.to_dict() if asked.scope else "workspace and org"
    return DropReason("scope", f"it is of {memory.scope}; this search covers {covered}")


def _drops_by_filters(filters: Filters, itself: MemoryQuerySet) -> Iterator[DropReason]:
    if not itself.filter_by(NO_FILTERS).exists():
        yield DropReason("state", "it is archived or superseded")
    if not filters.include_duplicates and itself.filter(is_duplicate=True).exists():
        yield DropReason("include_duplicates", "it is a duplicate")
    for name in (field.name for field in fields(filters)):
        value = getattr(filters, name)
        # Not naming any sensitivity narrows as well.
        narrows = name not in MATCH_OPTIONS and (value or name == "sensitivities")
        alone = {"tags_match": filters.tags_match, name: value}
        if narrows and not itself.filter_by(replace(NO_FILTERS, **alone)).exists():
            yield DropReason(name, "it does not fit")


def _why_not_ranked(question: RankingRequest, ranked: Ranking, memory: Memory) -> str:
    """Why no lane has it among its best."""
    scores = search.score_row(memory, ranked)
    if not ranked.vector:
        unseen = "the model did not answer"
    elif memory.is_duplicate:
        unseen = "it is a duplicate, and only its original is embedded"
    else:
        unseen = "it has no vector yet"
    reasons = {
        "keyword": "it holds none of the words" if not scores.keyword else "",
        "semantic": unseen if scores.semantic is None else "",
    }
    asked = ["keyword", "semantic"] if question.mode == "hybrid" else [question.mode]
    return "; ".join(
        f"{lane}: {reasons[lane] or f'{getattr(scores, lane):.4f}, not among the best looked at'}"
        for lane in asked
    )

"""Run a hybrid search: two lanes, then their fusion. docs/ranking.md has the formulas."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from django.db.models import QuerySet

from common import errors
from common.text import tokenise
from inference.embedding import active_model
from inference.embedding.vector import Vector
from inference.errors import InferenceError
from search import (
    bm25,
    fuse,
    keyword,
    missing_vectors,
    nearest_rows,
    parse_query,
    relevance,
    semantic,
)
from search.bm25 import Term
from search.fuse import Fusion, FusionWeights, LaneScores
from search.parse_query import ParsedQuery, Syntax
from search.postings import CandidateQuery
from search.relevance import HitSignals
from search.row_filter import RowFilter, SqlFragment
from search.search_plan import Candidate, Candidates, ProbeStats, SearchPlan

Mode = Literal["hybrid", "keyword", "semantic"]


@dataclass(frozen=True)
class RankingRequest:
    """A query, and all options that decide the order of its hits."""

    query: str
    project_id: uuid.UUID
    corpus: str
    language: str
    mode: Mode = "hybrid"
    syntax: Syntax = "plain"
    fusion: Fusion = "relative"
    keyword_weight: float = 0.5
    semantic_weight: float = 0.5
    # How many hits the answer needs. Each lane returns DEPTH rows if it can find them.
    min_hits: int = semantic.DEPTH
    # Whether the filters keep few rows (`SearchPlan.is_narrow`).
    is_narrow: bool = False

    @property
    def parsed_query(self) -> ParsedQuery:
        return parse_query.parse(self.query, self.syntax)

    @property
    def enough(self) -> int:
        return semantic.min_candidates(self.min_hits)


class LaneRank(NamedTuple):
    rank: int
    score: float


class Hit(NamedTuple):
    """A row's id, its score in 0..1, and its rank in each lane that found it.

    `is_relevant` says whether the row answers the query (`search.relevance`).
    """

    id: uuid.UUID
    score: float
    lanes: Mapping[str, LaneRank]
    is_relevant: bool = True


@dataclass(frozen=True)
class Ranking:
    """All candidates in order, and how they were found, for `explain`."""

    hits: list[Hit]
    terms: list[Term] = field(default_factory=list)
    candidates: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    vector: Vector | None = None
    # The semantic lane's last probe of the project's nearest rows.
    probe: ProbeStats = field(default_factory=ProbeStats)
    # The rows that were searched; None when the filters match no row.
    rows: RowFilter | None = None
    # The keyword lane's last query.
    candidate_query: CandidateQuery | None = None


class EmbeddingsUnavailable(errors.Refusal):
    """The embedding model does not answer; search with mode keyword, or try later."""

    status = 503
    code = "embeddings_unavailable"


class PendingSearch(NamedTuple):
    """A search whose query vector is still being made."""

    vector: Future[Vector] | None
    terms: list[Term]
    # The value of the extra statement.
    extra: Any = None


def begin_vector(
    query: str, mode: Mode, syntax: Syntax = "plain"
) -> Future[Vector] | None:
    """Start to embed a query in another thread, if the search mode needs a vector."""
    if mode == "keyword":
        return None
    return active_model.begin_query(parse_query.parse(query, syntax).embedded)


def begin(
    request: RankingRequest,
    using: str,
    extra: SqlFragment | None = None,
    vector: Future[Vector] | None = None,
) -> PendingSearch:
    """Start to embed the query, unless `vector` is given, and look up the query's terms.

    `extra` is a statement that selects one value. It is sent in the same message as the
    lookup.
    """
    vector = vector or begin_vector(request.query, request.mode, request.syntax)
    lookup = bm25.look_up_terms(
        request.parsed_query.ranked,
        project_id=request.project_id,
        corpus=request.corpus,
        language=request.language,
        using=using,
        extra=extra,
    )
    return PendingSearch(vector, *lookup)


def rank(
    rows: QuerySet[Any],
    request: RankingRequest,
    partitions: Sequence[str],
    pending: PendingSearch | None = None,
) -> Ranking:
    """Rank the rows of a queryset for a request; the queryset already has every filter.

    `rows` need `content_tsv`, `content_terms` and a relation `vectors`. `partitions`
    are the lexemes of `columns.partition_lexeme` that the rows may hold. `pending` is
    the result of `begin`, if the caller has called `begin`. When the embedding model
    fails, a hybrid search answers from the keyword lane alone.
    """
    pending = pending or begin(request, rows.db)
    parsed = request.parsed_query
    every = rows
    required: Sequence[str] = ()
    if condition := parse_query.build_condition(parsed, request.language, rows.db):
        rows, required = rows.filter(content_tsv=condition.query), condition.lexemes
    terms = [] if request.mode == "semantic" else pending.terms
    row_filter = RowFilter.of(rows)
    plan = SearchPlan(
        row_filter,
        request.project_id,
        partitions,
        terms,
        required,
        request.enough,
        request.is_narrow,
    )
    candidates = keyword.find_candidates(plan)
    vector, notes = _wait_for_vector(pending.vector, request)
    if vector:
        candidates = nearest_rows.add_candidates(plan, vector, candidates)
    if condition:
        notes += _note_left_out(every, rows, plan, vector)
    found = candidates.rows
    missing = missing_vectors.look(rows, found, vector)
    lanes = LaneScores(
        keyword=[each.keyword for each in found] if terms else None,
        semantic=_similarities(found, vector) if vector else None,
        coverage=missing.coverage,
    )
    weights = _fusion_weights(request, parsed.ranked, pending.terms)
    scores = fuse.fuse_lanes(lanes, weights, max_score=bm25.max_score(terms))
    hits = order_hits([each.id for each in found], scores, lanes)
    return Ranking(
        mark_relevant(
            hits,
            max_score=bm25.max_score(terms),
            least=relevance.least_evidence(
                _count_searched(candidates, plan, pending.terms),
                is_long=len(pending.terms) > fuse.LONG_QUERY,
            ),
        ),
        pending.terms,
        {"keyword": candidates.keyword_count, "semantic": candidates.semantic_count},
        notes + missing.notes,
        vector,
        candidates.probe,
        row_filter,
        candidates.query,
    )


def _note_left_out(
    every: QuerySet[Any], kept: QuerySet[Any], plan: SearchPlan, vector: Vector | None
) -> tuple[str, ...]:
    """Tell how many rows the operators left out, of those found without the operators.

    A search has a limited number of candidates, so the lanes run once more. To count all
    rows that the operators leave out would read the texts of the whole project.
    """
    without = replace(plan, rows=RowFilter.of(every), required_lexemes=())
    candidates = keyword.find_candidates(without)
    if vector:
        candidates = nearest_rows.add_candidates(without, vector, candidates)
    ids = [each.id for each in candidates.rows]
    left_out = len(ids) - kept.filter(pk__in=ids).count()
    if not left_out:
        return ()
    return (
        f"The operators left out {left_out} of the {len(ids)} best rows for the words. "
        "With the syntax plain, quotes and dashes are text.",
    )


def _similarities(
    candidates: Sequence[Candidate], vector: Vector
) -> list[float | None]:
    """Return the candidates' cosines on the scale of the bundled model."""
    scale = active_model.scale_of(vector.model)
    return [
        None if each.cosine is None else scale.similarity(each.cosine)
        for each in candidates
    ]


def _fusion_weights(
    request: RankingRequest, ranked: str, terms: Sequence[Term]
) -> FusionWeights:
    return FusionWeights(
        request.fusion,
        request.keyword_weight,
        request.semantic_weight,
        has_digit=any(map(tokenise.has_digit, tokenise.compounds(ranked))),
        lexemes=len(terms),
    )


def _wait_for_vector(
    pending: Future[Vector] | None, request: RankingRequest
) -> tuple[Vector | None, tuple[str, ...]]:
    if pending is None:
        return None, ()
    try:
        return pending.result(), ()
    except InferenceError as error:
        if request.mode == "semantic":
            raise EmbeddingsUnavailable from error
        return None, (f"keyword lane only: {error}",)


def _count_searched(
    candidates: Candidates, plan: SearchPlan, terms: Sequence[Term]
) -> int:
    """Return about how many rows were searched.

    If the semantic lane found fewer rows than it may, there are no others.
    """
    if 0 < candidates.semantic_count < plan.depth:
        return len(candidates.rows)
    return max([len(candidates.rows), *(term.documents for term in terms)])


def mark_relevant(hits: Sequence[Hit], *, max_score: float, least: float) -> list[Hit]:
    """Return the hits, each with whether it answers the query; `least` is the evidence.

    A row that has no vector yet is judged by its words, as are all rows without a query vector.
    """

    def lane_score(hit: Hit, lane: str) -> float | None:
        return hit.lanes[lane].score if lane in hit.lanes else None

    signals = [
        HitSignals(
            share=(lane_score(hit, "keyword") or 0.0) / max_score,
            cosine=lane_score(hit, "semantic"),
            score=hit.score,
        )
        for hit in hits
    ]
    return [
        hit._replace(is_relevant=is_relevant)
        for hit, is_relevant in zip(
            hits, relevance.find_relevant(signals, least), strict=True
        )
    ]


def order_hits(
    ids: Sequence[uuid.UUID], scores: Sequence[float], lanes: LaneScores
) -> list[Hit]:
    """Return the candidates as hits, best first, with their ranks in the lanes.

    Hits with equal scores are ordered by cosine, because all cosines below 0 have the
    score 0. Hits with equal cosines are ordered by id, newest first, because ids are
    time-ordered.
    """

    order = newest = sorted(range(len(ids)), key=lambda at: ids[at].int, reverse=True)
    ranks: list[dict[str, LaneRank]] = [{} for _ in ids]
    for name, scores_of in (("keyword", lanes.keyword), ("semantic", lanes.semantic)):
        if scores_of is None:
            continue
        values = [-1.0 if score is None else score for score in scores_of]
        order = sorted(newest, key=values.__getitem__, reverse=True)
        for rank, at in enumerate(order, start=1):
            if scores_of[at]:
                ranks[at][name] = LaneRank(rank, round(values[at], 6))
    best = sorted(order, key=scores.__getitem__, reverse=True)
    return [Hit(ids[at], round(scores[at], 6), ranks[at]) for at in best]

"""The two lanes and their fusion: docs/ranking.md has the formulas."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from django.db.models import F, FloatField, Func, Model, QuerySet, Value

from common import errors
from inference.embedding import active_model
from inference.embedding.vector import Vector
from inference.errors import InferenceError
from search import bm25, fuse, keyword, nearest_rows, semantic, tokenise
from search import bm25 as search_bm25
from search import parse_query as queries
from search.bm25 import Term
from search.fuse import Fusion, LaneScores
from search.postings import CandidateQuery
from search.row_filter import RowFilter, SqlFragment
from search.search_plan import ProbeStats, SearchPlan

Mode = Literal["hybrid", "keyword", "semantic"]


@dataclass(frozen=True)
class RankingRequest:
    """What is searched for."""

    query: str
    project_id: uuid.UUID
    corpus: str
    language: str
    mode: Mode = "hybrid"
    fusion: Fusion = "relative"
    keyword_weight: float = 0.5
    semantic_weight: float = 0.5
    # How many hits the answer needs; each lane gives DEPTH where it can.
    wanted: int = semantic.DEPTH

    @property
    def enough(self) -> int:
        return semantic.min_candidates(self.wanted)


class LaneRank(NamedTuple):
    rank: int
    score: float


class Hit(NamedTuple):
    """A row's id, its score in 0..1, and what each lane thought of it."""

    id: uuid.UUID
    score: float
    lanes: Mapping[str, LaneRank]


@dataclass(frozen=True)
class Ranking:
    """Every candidate in order, and what `explain` shows of how they were found."""

    hits: list[Hit]
    terms: list[Term] = field(default_factory=list)
    candidates: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    vector: Vector | None = None
    # The semantic lane's last look at the project's nearest rows.
    look: ProbeStats = field(default_factory=ProbeStats)
    # The rows that were asked; None when the filters leave none.
    rows: RowFilter | None = None
    # What the keyword lane asked for.
    sought: CandidateQuery | None = None


class EmbeddingsUnavailable(errors.Refusal):
    """The embedding model does not answer; search with mode keyword, or try later."""

    status = 503
    code = "embeddings_unavailable"


class PendingSearch(NamedTuple):
    """What is known of a question before its rows: the vector is still being made."""

    vector: Future[Vector] | None
    terms: list[Term]
    # What was asked in the same message.
    beside: Any = None


def begin_vector(query: str, mode: Mode) -> Future[Vector] | None:
    """Have a query's vector made by another thread, where its mode needs one."""
    if mode == "keyword":
        return None
    return active_model.begin_query(queries.parse(query).ranked)


def begin(
    question: RankingRequest,
    using: str,
    beside: SqlFragment | None = None,
    vector: Future[Vector] | None = None,
) -> PendingSearch:
    """Have a query's vector made, unless it is on its way, and meanwhile look up its terms.

    `beside` is a statement of one value, which is asked in the same message.
    """
    ranked = queries.parse(question.query).ranked
    vector = vector or begin_vector(question.query, question.mode)
    answer = search_bm25.look_up_terms(
        ranked,
        project_id=question.project_id,
        corpus=question.corpus,
        language=question.language,
        using=using,
        beside=beside,
    )
    return PendingSearch(vector, *answer)


def rank(
    rows: QuerySet[Any],
    question: RankingRequest,
    arms: Sequence[str],
    begun: PendingSearch | None = None,
) -> Ranking:
    """Rank the rows of a queryset for a question; every filter is already in `rows`.

    `rows` need `content_tsv`, `content_terms` and a relation `vectors`; `arms` are the
    lexemes that they may hold of `fields.arm_lexeme`. `begun` is what `begin` gave, if
    it was called already. When the embedding model fails, a hybrid search answers from
    the keyword lane alone.
    """
    begun = begun or begin(question, rows.db)
    terms = begun.terms
    parsed = queries.parse(question.query)
    held: Sequence[str] = ()
    if condition := queries.build_condition(parsed, question.language, rows.db):
        rows, held = rows.filter(content_tsv=condition.query), condition.held
    sought = [] if question.mode == "semantic" else terms
    narrowed = RowFilter.of(rows)
    asked = SearchPlan(
        narrowed, question.project_id, arms, sought, held, question.enough
    )
    found = keyword.find_candidates(asked)
    vector, notes = _vector(begun.vector, question)
    if vector:
        found = nearest_rows.add_candidates(asked, vector, found)
    scored = LaneScores(
        keyword=[each.keyword for each in found.candidates] if sought else None,
        semantic=[each.cosine or 0.0 for each in found.candidates] if vector else None,
    )
    way = _fusion_weights(question, parsed.ranked, terms)
    scores = fuse.fuse_lanes(scored, way, most=bm25.max_score(sought))
    hits = order_hits([each.id for each in found.candidates], scores, scored)
    counts = {"keyword": found.by_words, "semantic": found.by_meaning}
    return Ranking(
        hits, terms, counts, notes, vector, found.look, narrowed, found.sought
    )


def _fusion_weights(
    question: RankingRequest, ranked: str, terms: Sequence[Term]
) -> fuse.FusionWeights:
    return fuse.FusionWeights(
        question.fusion,
        question.keyword_weight,
        question.semantic_weight,
        has_numbered=any(map(tokenise.has_digit, tokenise.compounds(ranked))),
        lexemes=len(terms),
    )


def _vector(
    begun: Future[Vector] | None, question: RankingRequest
) -> tuple[Vector | None, tuple[str, ...]]:
    if begun is None:
        return None, ()
    try:
        return begun.result(), ()
    except InferenceError as error:
        if question.mode == "semantic":
            raise EmbeddingsUnavailable from error
        return None, (f"keyword lane only: {error}",)


def _relevance(terms: Sequence[Term]) -> Func:
    return Func(
        F("content_terms"),
        Value(search_bm25.weights_literal(terms)),
        template="(-(%(expressions)s::sparsevec))",
        arg_joiner=" <#> ",
        output_field=FloatField(),
    )


@dataclass(frozen=True)
class RowScores:
    """BM25 and cosine of one row; None without a vector of the model."""

    keyword: float
    semantic: float | None


def score_row(row: Model, ranked: Ranking) -> RowScores:
    """What each lane thinks of a row that is no candidate of a search."""
    rows = type(row)._base_manager.filter(pk=row.pk)
    relevance = rows.annotate(relevance=_relevance(ranked.terms))
    keyword: float = relevance.values_list("relevance", flat=True)[0]
    if ranked.vector is None:
        return RowScores(keyword, None)
    cosine = semantic.exact_cosines(rows, ranked.vector)
    return RowScores(keyword, cosine.get(row.pk))


def order_hits(
    ids: Sequence[uuid.UUID], scores: Sequence[float], lanes: LaneScores
) -> list[Hit]:
    """The candidates as hits, best first, with their place in the lanes they are in.

    Ties go to what is nearer in meaning (cosines below 0 all score 0), then to the
    newer row, because ids are time-ordered.
    """

    order = newest = sorted(range(len(ids)), key=lambda at: ids[at].int, reverse=True)
    places: list[dict[str, LaneRank]] = [{} for _ in ids]
    for name, values in (("keyword", lanes.keyword), ("semantic", lanes.semantic)):
        if values is None:
            continue
        order = sorted(newest, key=values.__getitem__, reverse=True)
        for rank, at in enumerate(order, start=1):
            if values[at]:
                places[at][name] = LaneRank(rank, round(values[at], 6))
    best = sorted(order, key=scores.__getitem__, reverse=True)
    return [Hit(ids[at], round(scores[at], 6), places[at]) for at in best]

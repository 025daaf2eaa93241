"""The two lanes and their fusion: docs/ranking.md has the formulas."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from django.db.models import F, FloatField, Func, QuerySet, Value
from pgvector.django import CosineDistance

from common import errors
from inference import embedding
from inference.errors import InferenceError
from search import query as queries
from search.query import Term

Mode = Literal["hybrid", "keyword", "semantic"]
Fusion = Literal["relative", "rrf"]
Scores = dict[uuid.UUID, float]

# Each lane's best rows that enter the fusion; both lanes then score all of them.
DEPTH = 100
RRF_K = 60  # Cormack, Clarke and Büttcher 2009, as requirement 003 cites it
# The largest value that one lexeme can have in `bm25_terms`: k1 + 1.
MOST_PER_TERM = 2.2


@dataclass(frozen=True)
class Question:
    """What is searched for. `arms` are the lexemes of `fields.arm_lexeme`."""

    query: str
    project_id: uuid.UUID
    corpus: str
    arms: tuple[str, ...]
    mode: Mode = "hybrid"
    fusion: Fusion = "relative"
    keyword_weight: float = 0.5
    semantic_weight: float = 0.5


@dataclass(frozen=True)
class Lane:
    rank: int
    score: float


@dataclass(frozen=True)
class Hit:
    """A row's id, its score in 0..1, and what each lane thought of it."""

    id: uuid.UUID
    score: float
    lanes: Mapping[str, Lane]


@dataclass(frozen=True)
class Ranked:
    """Every candidate in order, and what `explain` shows of how they were found."""

    hits: list[Hit]
    terms: list[Term] = field(default_factory=list)
    candidates: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class EmbeddingsUnavailable(errors.Refusal):
    """The embedding model does not answer; search with mode keyword, or try later."""

    status = 503
    code = "embeddings_unavailable"


def rank(rows: QuerySet[Any], question: Question) -> Ranked:
    """Rank the rows of a queryset for a question; every filter is already in `rows`.

    `rows` need `content_tsv`, `content_terms` and a relation `vectors`. When the
    embedding model fails, a hybrid search answers from the keyword lane alone.
    """
    parsed = queries.parse(question.query)
    if condition := queries.condition(parsed):
        rows = rows.filter(content_tsv=condition)
    vector, notes = _vector(parsed.ranked, question)
    terms = queries.terms(
        parsed.ranked, project_id=question.project_id, corpus=question.corpus
    )
    keyword = (
        {} if question.mode == "semantic" else keyword_lane(rows, terms, question.arms)
    )
    semantic = semantic_lane(rows, vector)
    found = {"keyword": len(keyword), "semantic": len(semantic)}
    if question.mode == "hybrid" and terms and vector:
        # Every candidate of the union is scored in both lanes.
        keyword |= keyword_scores(rows.filter(pk__in=semantic.keys() - keyword), terms)
        semantic |= semantic_scores(
            rows.filter(pk__in=keyword.keys() - semantic), vector
        )
    scored = fuse(keyword, semantic, question, most=most_possible(terms))
    return Ranked(in_order(scored, keyword, semantic), terms, found, notes)


def _vector(ranked: str, question: Question) -> tuple[list[float], tuple[str, ...]]:
    if question.mode == "keyword":
        return [], ()
    try:
        return embedding.embed_query(ranked), ()
    except InferenceError as error:
        if question.mode == "semantic":
            raise EmbeddingsUnavailable from error
        return [], (f"keyword lane only: {error}",)


def keyword_lane(
    rows: QuerySet[Any], terms: Sequence[Term], arms: Iterable[str]
) -> Scores:
    """BM25: {id: score} of the best rows that hold any of the rarest lexemes."""
    if not terms:
        return {}
    wanted = queries.LexemeQuery(queries.candidates(terms, arms))
    return keyword_scores(rows.filter(content_tsv=wanted), terms)


def keyword_scores(rows: QuerySet[Any], terms: Sequence[Term]) -> Scores:
    relevance = Func(
        F("content_terms"),
        Value(queries.weights(terms)),
        template="(-(%(expressions)s::sparsevec))",
        arg_joiner=" <#> ",
        output_field=FloatField(),
    )
    found = rows.annotate(relevance=relevance).order_by("-relevance", "-pk")
    return dict(found.values_list("pk", "relevance")[:DEPTH])


def semantic_lane(rows: QuerySet[Any], vector: Sequence[float]) -> Scores:
    """Cosine: {id: score} of the nearest rows, by an exact scan."""
    return semantic_scores(rows, vector) if vector else {}


def semantic_scores(rows: QuerySet[Any], vector: Sequence[float]) -> Scores:
    found = (
        rows.filter(vectors__model=embedding.active().name)
        .annotate(distance=CosineDistance("vectors__embedding", list(vector)))
        .order_by("distance", "-pk")
        .values_list("pk", "distance")[:DEPTH]
    )
    return {pk: 1 - distance for pk, distance in found}


def most_possible(terms: Sequence[Term]) -> float:
    """The BM25 score of a row in which every term of the query is saturated."""
    return MOST_PER_TERM * sum(term.weight for term in terms) or 1.0


def fuse(
    keyword: Scores, semantic: Scores, question: Question, *, most: float
) -> Scores:
    """One score in 0..1 for every candidate.

    A single lane keeps its own: the share of the greatest possible BM25 score, or
    the cosine. Fused ranks say nothing of how good the best one is, so they are
    scaled by how well any candidate fits at all: a score means the same in every
    answer, and `min_score` can empty a hopeless one.
    """
    shares = {pk: score / most for pk, score in keyword.items()}
    cosines = {pk: max(score, 0.0) for pk, score in semantic.items()}
    if not cosines:
        return shares
    if not shares:
        return cosines
    whole = (question.keyword_weight + question.semantic_weight) or 1.0
    by_keyword = question.keyword_weight / whole
    by_meaning = question.semantic_weight / whole
    fit = _weighted([(shares, by_keyword), (cosines, by_meaning)])
    lane = _reciprocal_ranks if question.fusion == "rrf" else _relative
    fused = _weighted([(lane(shares), by_keyword), (lane(cosines), by_meaning)])
    best = max(fit.values())
    # The root lifts the middle of the scale, where second best answers stand.
    return {pk: score**0.5 * best for pk, score in fused.items()}


def _weighted(lanes: Iterable[tuple[Scores, float]]) -> Scores:
    total: Scores = {}
    for scores, weight in lanes:
        for pk, score in scores.items():
            total[pk] = total.get(pk, 0.0) + weight * score
    return total


def _relative(scores: Scores) -> Scores:
    """The share of the best candidate's score; 0 is a row with nothing in common.

    So the lowest candidate of a small answer keeps what it has: with the minimum of
    the candidates for 0, the second of two good answers would score nothing.
    """
    best = max(scores.values()) or 1.0
    return {pk: score / best for pk, score in scores.items()}


def _reciprocal_ranks(scores: Scores) -> Scores:
    """(k + 1) / (k + rank): the usual 1 / (k + rank), with 1 for the first."""
    return {
        pk: (RRF_K + 1) / (RRF_K + rank)
        for rank, pk in enumerate(_sorted(scores), start=1)
    }


def _sorted(scores: Scores) -> list[uuid.UUID]:
    """Best first; ties newest first, because ids are time-ordered."""
    return sorted(scores, key=lambda pk: (scores[pk], pk), reverse=True)


def in_order(scored: Scores, keyword: Scores, semantic: Scores) -> list[Hit]:
    lanes = {"keyword": keyword, "semantic": semantic}
    ranks = {
        name: {pk: rank for rank, pk in enumerate(_sorted(lane), start=1)}
        for name, lane in lanes.items()
    }
    return [
        Hit(
            id=pk,
            score=round(scored[pk], 6),
            lanes={
                name: Lane(ranks[name][pk], round(lane[pk], 6))
                for name, lane in lanes.items()
                if lane.get(pk, 0.0) > 0
            },
        )
        for pk in _sorted(scored)
    ]

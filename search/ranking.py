"""The two lanes and their fusion: docs/ranking.md has the formulas."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from django.contrib.postgres.fields import ArrayField
from django.db.models import (
    BooleanField,
    Exists,
    F,
    FilteredRelation,
    FloatField,
    Func,
    Model,
    OuterRef,
    Q,
    QuerySet,
    UUIDField,
    Value,
)
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
    words = [] if question.mode == "semantic" else terms
    keyword = keyword_lane(rows, words, question.arms) if words else {}
    semantic = semantic_lane(rows, vector) if vector else {}
    found = {"keyword": len(keyword), "semantic": len(semantic)}
    if words and vector:
        _complete(rows.model, keyword, semantic, words, vector)
    ids = list(keyword | semantic)
    lanes = Lanes(
        keyword=[keyword.get(pk, 0.0) for pk in ids] if words else None,
        semantic=[semantic.get(pk, 0.0) for pk in ids] if vector else None,
    )
    scores = fuse(lanes, question, most=most_possible(words))
    return Ranked(in_order(ids, scores, lanes), terms, found, notes)


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
    wanted = queries.LexemeQuery(queries.candidates(terms, arms))
    by_index = Func(
        F("content_tsv"), function="tsvector_is_read", output_field=BooleanField()
    )
    found = (
        rows.filter(by_index, content_tsv=wanted)
        .annotate(relevance=_relevance(terms))
        .order_by("-relevance", "-pk")
        .values_list("pk", "relevance")[:DEPTH]
    )
    return dict(found)


def semantic_lane(rows: QuerySet[Any], vector: Sequence[float]) -> Scores:
    """Cosine: {id: score} of the nearest rows, by an exact scan.

    It asks the narrow table of vectors, which took 7 ms where a join of the rows
    with their vectors took 10 (3,200 rows). The project stands in both tables, so
    that the planner confines both scans to it.
    """
    relation = _vectors(rows.model)
    owner = relation.field.attname
    same = rows.order_by().filter(pk=OuterRef(owner), project_id=OuterRef("project_id"))
    found = (
        relation.related_model._base_manager.filter(
            Exists(same), model=embedding.active().name
        )
        .annotate(distance=CosineDistance("embedding", list(vector)))
        .order_by("distance", f"-{owner}")
        .values_list(owner, "distance")[:DEPTH]
    )
    return {pk: 1 - distance for pk, distance in found}


def _complete(
    model: type[Model],
    keyword: Scores,
    semantic: Scores,
    terms: Sequence[Term],
    vector: Sequence[float],
) -> None:
    """Score in the other lane what only one lane found; no filter needs asking again."""
    near = FilteredRelation(
        "vectors", condition=Q(vectors__model=embedding.active().name)
    )
    lone = keyword.keys() ^ semantic.keys()
    if not lone:
        return
    found = (
        model._base_manager.filter(_is_any_of(lone))
        .annotate(near=near)
        .annotate(
            relevance=_relevance(terms),
            distance=CosineDistance("near__embedding", list(vector)),
        )
    )
    for pk, relevance, distance in found.values_list("pk", "relevance", "distance"):
        keyword[pk] = relevance
        if distance is not None:
            semantic[pk] = 1 - distance


def _is_any_of(ids: Iterable[uuid.UUID]) -> Func:
    """`pk__in` as one array: a parameter for each id took Django longer than the scan."""
    return Func(
        F("pk"),
        Value(list(ids), output_field=ArrayField(UUIDField())),
        template="(%(expressions)s))",
        arg_joiner=" = ANY(",
        output_field=BooleanField(),
    )


def _relevance(terms: Sequence[Term]) -> Func:
    return Func(
        F("content_terms"),
        Value(queries.weights(terms)),
        template="(-(%(expressions)s::sparsevec))",
        arg_joiner=" <#> ",
        output_field=FloatField(),
    )


def _vectors(model: type[Model]) -> Any:
    return model._meta.get_field("vectors")


def most_possible(terms: Sequence[Term]) -> float:
    """The BM25 score of a row in which every term of the query is saturated."""
    return MOST_PER_TERM * sum(term.weight for term in terms) or 1.0


@dataclass(frozen=True)
class Lanes:
    """What the lanes gave each candidate, in the same order: BM25 and cosine.

    0 where a lane did not find it, None for a lane that was not asked. Lists, because
    hashing ids again and again took longer than the arithmetic.
    """

    keyword: list[float] | None
    semantic: list[float] | None


def fuse(lanes: Lanes, question: Question, *, most: float) -> list[float]:
    """One score in 0..1 for every candidate.

    A single lane keeps its own: the share of the greatest possible BM25 score, or
    the cosine. Fused ranks say nothing of how good the best one is, so they are
    scaled by how well any candidate fits at all: a score means the same in every
    answer, and `min_score` can empty a hopeless one.
    """
    shares = [score / most for score in lanes.keyword or ()]
    cosines = [max(score, 0.0) for score in lanes.semantic or ()]
    if lanes.semantic is None:
        return shares
    if lanes.keyword is None:
        return cosines
    whole = (question.keyword_weight + question.semantic_weight) or 1.0
    by_keyword = question.keyword_weight / whole
    by_meaning = question.semantic_weight / whole
    lane = reciprocal_ranks if question.fusion == "rrf" else relative
    fused = zip(lane(shares), lane(cosines), strict=True)
    fits = zip(shares, cosines, strict=True)
    best = max((by_keyword * a + by_meaning * b for a, b in fits), default=0.0)
    # The root lifts the middle of the scale, where second best answers stand.
    return [(by_keyword * a + by_meaning * b) ** 0.5 * best for a, b in fused]


def relative(scores: list[float]) -> list[float]:
    """The share of the best candidate's score; 0 is a row with nothing in common.

    So the lowest candidate of a small answer keeps what it has: with the minimum of
    the candidates for 0, the second of two good answers would score nothing.
    """
    best = max(scores, default=0.0) or 1.0
    return [score / best for score in scores]


def reciprocal_ranks(scores: list[float]) -> list[float]:
    """(k + 1) / (k + rank): the usual 1 / (k + rank), with 1 for the first.

    Equal scores share a rank, and what a lane did not find has none.
    """
    places = {score: rank for rank, score in enumerate(sorted(scores), start=1)}
    return [
        (RRF_K + 1) / (RRF_K + len(scores) + 1 - places[score]) if score else 0.0
        for score in scores
    ]


def in_order(
    ids: Sequence[uuid.UUID], scores: Sequence[float], lanes: Lanes
) -> list[Hit]:
    """The candidates as hits, best first, with their place in the lanes they are in.

    Ties go to the newer row, because ids are time-ordered.
    """

    def ranked(values: Sequence[float]) -> list[int]:
        key = [(value, pk.int) for value, pk in zip(values, ids, strict=True)]
        return sorted(range(len(ids)), key=key.__getitem__, reverse=True)

    places: list[dict[str, Lane]] = [{} for _ in ids]
    for name, values in (("keyword", lanes.keyword), ("semantic", lanes.semantic)):
        if values is None:
            continue
        for rank, at in enumerate(ranked(values), start=1):
            if values[at]:
                places[at][name] = Lane(rank, round(values[at], 6))
    return [Hit(ids[at], round(scores[at], 6), places[at]) for at in ranked(scores)]

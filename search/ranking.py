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
from search import fusion
from search import query as queries
from search.fusion import Fusion as Fusion
from search.fusion import Lanes
from search.query import Term

Mode = Literal["hybrid", "keyword", "semantic"]
Scores = dict[uuid.UUID, float]

# Each lane's best rows that enter the fusion; both lanes then score all of them.
DEPTH = 100
# A project's nearest rows of which the filters are asked first; most filters leave
# more than DEPTH of them.
NEAREST = 250


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
    semantic = _nearest(rows, vector, question) if vector else {}
    found = {"keyword": len(keyword), "semantic": len(semantic)}
    if words and vector:
        _complete(rows.model, keyword, semantic, words, vector)
    ids = list(keyword | semantic)
    lanes = Lanes(
        keyword=[keyword.get(pk, 0.0) for pk in ids] if words else None,
        semantic=[semantic.get(pk, 0.0) for pk in ids] if vector else None,
    )
    way = fusion.Way(question.fusion, question.keyword_weight, question.semantic_weight)
    scores = fusion.fuse(lanes, way, most=fusion.most_possible(words))
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
    found = (
        _holding(rows, queries.candidates(terms, arms))
        .annotate(relevance=_relevance(terms))
        .order_by("-relevance", "-pk")
        .values_list("pk", "relevance")[:DEPTH]
    )
    return dict(found)


def _holding(rows: QuerySet[Any], lexemes: str) -> QuerySet[Any]:
    """The rows that a tsquery matches, by the index."""
    by_index = Func(
        F("content_tsv"), function="tsvector_is_read", output_field=BooleanField()
    )
    return rows.filter(by_index, content_tsv=queries.LexemeQuery(lexemes))


def _nearest(
    rows: QuerySet[Any], vector: Sequence[float], question: Question
) -> Scores:
    """The semantic lane of a question: the project's arm, and the shared ones.

    Most often enough of the project's nearest vectors pass the filters, which are then
    asked of those alone: 6 ms where asking them of all took 20 (5,000 rows, a busy
    machine). The answer is the same.
    """
    own = _passing_nearest(rows, vector, question.project_id)
    if len(own) < DEPTH:
        return semantic_lane(rows, vector)
    shared = queries.any_of(question.arms[1:])
    elsewhere = rows.model._base_manager.exclude(project_id=question.project_id)
    if not shared or not _holding(elsewhere, shared).exists():
        return own
    others = semantic_lane(_holding(rows, shared), vector)
    best = sorted((own | others).items(), key=lambda found: -found[1])
    return dict(best[:DEPTH])


def _passing_nearest(
    rows: QuerySet[Any], vector: Sequence[float], project_id: uuid.UUID
) -> Scores:
    """Those of a project's nearest rows that pass the filters, nearest first."""
    relation = _vectors(rows.model)
    owner = relation.field.attname
    nearest = (
        relation.related_model._base_manager.filter(
            project_id=project_id, model=embedding.active().name
        )
        .order_by(CosineDistance("embedding", list(vector)), f"-{owner}")
        .values(owner)[:NEAREST]
    )
    found = (
        _with_distance(rows.filter(pk__in=nearest), vector)
        .order_by("distance", "-pk")
        .values_list("pk", "distance")[:DEPTH]
    )
    return {pk: 1 - distance for pk, distance in found}


def semantic_lane(rows: QuerySet[Any], vector: Sequence[float]) -> Scores:
    """Cosine: {id: score} of the nearest rows, by an exact scan.

    It asks the narrow table of vectors. The project stands in both tables, so that
    the planner confines both scans to it.
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
    lone = keyword.keys() ^ semantic.keys()
    if not lone:
        return
    found = _with_distance(model._base_manager.filter(_is_any_of(lone)), vector)
    scored = found.annotate(relevance=_relevance(terms))
    for pk, relevance, distance in scored.values_list("pk", "relevance", "distance"):
        keyword[pk] = relevance
        if distance is not None:
            semantic[pk] = 1 - distance


def _with_distance(rows: QuerySet[Any], vector: Sequence[float]) -> QuerySet[Any]:
    near = FilteredRelation(
        "vectors", condition=Q(vectors__model=embedding.active().name)
    )
    distance = CosineDistance("near__embedding", list(vector))
    measured: QuerySet[Any] = rows.annotate(near=near).annotate(distance=distance)
    return measured


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

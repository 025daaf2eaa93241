"""The two lanes and their fusion: docs/ranking.md has the formulas."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from django.db.models import F, FloatField, Func, Model, QuerySet, Value

from common import errors
from inference import embedding
from inference.errors import InferenceError
from inference.vectors import Vector
from search import fusion, lanes, meaning, semantic, words
from search import query as queries
from search.filtered import Filtered, Part
from search.fusion import Fusion as Fusion
from search.fusion import Lanes
from search.lanes import Asked, Look
from search.postings import Sought
from search.query import Term
from search.semantic import semantic_lane as semantic_lane

Mode = Literal["hybrid", "keyword", "semantic"]


@dataclass(frozen=True)
class Question:
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
        return semantic.enough(self.wanted)


class Lane(NamedTuple):
    rank: int
    score: float


class Hit(NamedTuple):
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
    vector: Vector | None = None
    # The semantic lane's last look at the project's nearest rows.
    look: Look = field(default_factory=Look)
    # The rows that were asked; None when the filters leave none.
    rows: Filtered | None = None
    # What the keyword lane asked for.
    sought: Sought | None = None


class EmbeddingsUnavailable(errors.Refusal):
    """The embedding model does not answer; search with mode keyword, or try later."""

    status = 503
    code = "embeddings_unavailable"


class Begun(NamedTuple):
    """What is known of a question before its rows: the vector is still being made."""

    vector: Future[Vector] | None
    terms: list[Term]
    # What was asked in the same message.
    beside: Any = None


def begin_vector(query: str, mode: Mode) -> Future[Vector] | None:
    """Have a query's vector made by another thread, where its mode needs one."""
    if mode == "keyword":
        return None
    return embedding.begin_query(queries.parse(query).ranked)


def begin(
    question: Question,
    using: str,
    beside: Part | None = None,
    vector: Future[Vector] | None = None,
) -> Begun:
    """Have a query's vector made, unless it is on its way, and meanwhile look up its terms.

    `beside` is a statement of one value, which is asked in the same message.
    """
    ranked = queries.parse(question.query).ranked
    vector = vector or begin_vector(question.query, question.mode)
    answer = queries.terms(
        ranked,
        project_id=question.project_id,
        corpus=question.corpus,
        language=question.language,
        using=using,
        beside=beside,
    )
    return Begun(vector, *answer)


def rank(
    rows: QuerySet[Any],
    question: Question,
    arms: Sequence[str],
    begun: Begun | None = None,
) -> Ranked:
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
    if condition := queries.condition(parsed, question.language, rows.db):
        rows, held = rows.filter(content_tsv=condition.query), condition.held
    sought = [] if question.mode == "semantic" else terms
    narrowed = Filtered.of(rows)
    asked = Asked(narrowed, question.project_id, arms, sought, held, question.enough)
    found = lanes.by_words(asked)
    vector, notes = _vector(begun.vector, question)
    if vector:
        found = meaning.by_meaning(asked, vector, found)
    scored = Lanes(
        keyword=[each.keyword for each in found.candidates] if sought else None,
        semantic=[each.cosine or 0.0 for each in found.candidates] if vector else None,
    )
    way = _way(question, parsed.ranked, terms)
    scores = fusion.fuse(scored, way, most=fusion.most_possible(sought))
    hits = in_order([each.id for each in found.candidates], scores, scored)
    counts = {"keyword": found.by_words, "semantic": found.by_meaning}
    return Ranked(
        hits, terms, counts, notes, vector, found.look, narrowed, found.sought
    )


def _way(question: Question, ranked: str, terms: Sequence[Term]) -> fusion.Way:
    return fusion.Way(
        question.fusion,
        question.keyword_weight,
        question.semantic_weight,
        has_numbered=any(map(words.is_numbered, words.compounds(ranked))),
        lexemes=len(terms),
    )


def _vector(
    begun: Future[Vector] | None, question: Question
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
        Value(queries.weights(terms)),
        template="(-(%(expressions)s::sparsevec))",
        arg_joiner=" <#> ",
        output_field=FloatField(),
    )


@dataclass(frozen=True)
class LaneScores:
    """BM25 and cosine of one row; None without a vector of the model."""

    keyword: float
    semantic: float | None


def scores_of(row: Model, ranked: Ranked) -> LaneScores:
    """What each lane thinks of a row that is no candidate of a search."""
    rows = type(row)._base_manager.filter(pk=row.pk)
    relevance = rows.annotate(relevance=_relevance(ranked.terms))
    keyword: float = relevance.values_list("relevance", flat=True)[0]
    if ranked.vector is None:
        return LaneScores(keyword, None)
    cosine = semantic.semantic_lane(rows, ranked.vector)
    return LaneScores(keyword, cosine.get(row.pk))


def in_order(
    ids: Sequence[uuid.UUID], scores: Sequence[float], lanes: Lanes
) -> list[Hit]:
    """The candidates as hits, best first, with their place in the lanes they are in.

    Ties go to what is nearer in meaning (cosines below 0 all score 0), then to the
    newer row, because ids are time-ordered.
    """

    order = newest = sorted(range(len(ids)), key=lambda at: ids[at].int, reverse=True)
    places: list[dict[str, Lane]] = [{} for _ in ids]
    for name, values in (("keyword", lanes.keyword), ("semantic", lanes.semantic)):
        if values is None:
            continue
        order = sorted(newest, key=values.__getitem__, reverse=True)
        for rank, at in enumerate(order, start=1):
            if values[at]:
                places[at][name] = Lane(rank, round(values[at], 6))
    best = sorted(order, key=scores.__getitem__, reverse=True)
    return [Hit(ids[at], round(scores[at], 6), places[at]) for at in best]

"""The numbers of the semantic lane, its index options, and its exact scan."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import Exists, Model, OuterRef, QuerySet
from pgvector.django import CosineDistance

from inference.embedding.vector import Vector

Scores = dict[uuid.UUID, float]

# Each lane's best rows that enter the fusion; both lanes then score all of them.
DEPTH = 100
# A lane with this many candidates stops, unless the answer needs more.
MIN_CANDIDATES = 50
# The size of a probe: this many of a project's nearest rows are filtered first. If a third
# of all rows pass, MIN_CANDIDATES of these do. Measured in docs/ranking.md.
NEAREST = 160
# A second probe is this many times as large, if that promises enough.
WIDEN_FACTOR = 3


def min_candidates(hits: int) -> int:
    """How many rows a lane must find for an answer of this many hits."""
    return min(DEPTH, max(MIN_CANDIDATES, hits))


def ef_search(nearest: int) -> int:
    """The `hnsw.ef_search` for a search of this many rows.

    With a value of `nearest`, or one more (the sort looks for ties), HNSW searches twice.
    """
    return nearest + 16


def hnsw_options(ef_search: int, *, iterative: bool = True) -> str:
    """A condition that is always true and sets the options of an index search.

    `iterative`: search on until enough rows pass the other conditions. PostgreSQL
    evaluates the condition once, before it fetches the first row. The options end with
    the transaction, which most often is the statement; SET LOCAL costs a round trip more.
    """
    iterative_scan = "strict_order" if iterative else "off"
    return (
        f"(SELECT set_config('hnsw.iterative_scan', '{iterative_scan}', true)"
        f" || set_config('hnsw.ef_search', '{ef_search}', true)) IS NOT NULL"
    )


def exact_cosines(rows: QuerySet[Any], vector: Vector) -> Scores:
    """Return {id: cosine} of the nearest rows, by an exact scan.

    The scan reads the narrow table of vectors. Both tables hold the project's id, so that
    the planner confines both scans to the project.
    """
    relation = vectors_of(rows.model)
    owner = relation.field.attname
    same = rows.order_by().filter(pk=OuterRef(owner), project_id=OuterRef("project_id"))
    found = (
        relation.related_model._base_manager.filter(Exists(same), model=vector.model)
        .annotate(distance=CosineDistance("embedding", list(vector)))
        .order_by("distance", f"-{owner}")
        .values_list(owner, "distance")[:DEPTH]
    )
    return {pk: 1 - distance for pk, distance in found}


def vectors_of(model: type[Model]) -> Any:
    return model._meta.get_field("vectors")

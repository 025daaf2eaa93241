"""The numbers of the semantic lane, its index options, and its exact scan."""

from __future__ import annotations

import uuid
from itertools import islice
from typing import Any

from django.db.models import Exists, Model, OuterRef, QuerySet
from pgvector.django import CosineDistance

from inference.embedding import active_model
from inference.embedding.chunks import MAX_CHUNKS
from inference.embedding.vector import Vector

Scores = dict[uuid.UUID, float]

# This many of each lane's best rows enter the fusion. Both lanes then score all these
# rows.
DEPTH = 100
# A lane with this many candidates stops, unless the answer needs more.
MIN_CANDIDATES = 50
# The size of the first probe: the number of a project's nearest rows that are filtered. If
# a third of all rows pass the filters, MIN_CANDIDATES rows of the probe pass.
# docs/ranking.md has the measurements.
NEAREST = 160
# A second probe is this many times as large, if a probe of that size promises enough rows.
WIDEN_FACTOR = 3


def min_candidates(hits: int) -> int:
    """Return how many rows a lane must find for an answer of this many hits."""
    return min(DEPTH, max(MIN_CANDIDATES, hits))


def ef_search(nearest: int) -> int:
    """Return the `hnsw.ef_search` for a search of `nearest` rows.

    The value must be greater than `nearest` + 1, because the sort reads one more row to
    look for ties. With a smaller value, HNSW searches twice.
    """
    return nearest + 16


def hnsw_options(ef_search: int, *, iterative: bool = True) -> str:
    """A condition that is always true and sets the options of an index search.

    If `iterative`, the search goes on until enough rows pass the other conditions.
    PostgreSQL evaluates this condition once, before it fetches the first row. The
    options end with the transaction, and most often the statement is the whole
    transaction. SET LOCAL would cost one more round trip.
    """
    iterative_scan = "strict_order" if iterative else "off"
    return (
        f"(SELECT set_config('hnsw.iterative_scan', '{iterative_scan}', true)"
        f" || set_config('hnsw.ef_search', '{ef_search}', true)) IS NOT NULL"
    )


def exact_cosines(rows: QuerySet[Any], vector: Vector) -> Scores:
    """Return {id: similarity} of the nearest rows by their nearest chunks, by an exact scan.

    The similarity is the cosine on the scale of the bundled model.

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
        .values_list(owner, "distance")[: DEPTH * MAX_CHUNKS]
    )
    scale = active_model.scale_of(vector.model)
    scores: Scores = {}
    for pk, distance in found:
        scores.setdefault(pk, scale.similarity(1 - distance))
    return dict(islice(scores.items(), DEPTH))


def vectors_of(model: type[Model]) -> Any:
    return model._meta.get_field("vectors")

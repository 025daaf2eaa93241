"""The semantic lane: the nearest rows, by the project's own index or by an exact scan."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import Exists, Model, OuterRef, QuerySet
from pgvector.django import CosineDistance

from inference.embedding.vector import Vector

Scores = dict[uuid.UUID, float]

# Each lane's best rows that enter the fusion; both lanes then score all of them.
DEPTH = 100
# Of a lane that has found so many no more are asked, unless the answer needs them.
MIN_CANDIDATES = 50
# A project's nearest rows, of which the filters are asked first: when a third of the
# rows pass, ENOUGH of these do. Measured in docs/ranking.md.
NEAREST = 160
# Where fewer passed, and so many times NEAREST promise enough, those are asked.
WIDEN_FACTOR = 3


def min_candidates(wanted: int) -> int:
    """How many rows a lane has to find for an answer of so many."""
    return min(DEPTH, max(MIN_CANDIDATES, wanted))


def ef_search(nearest: int) -> int:
    """What HNSW keeps in view while it searches so many rows.

    With no more than these, or one more (the sort looks for ties), it searches twice.
    """
    return nearest + 16


def hnsw_options(ef_search: int, *, goes_on: bool = True) -> str:
    """A condition that is always true, and sets how an index is searched.

    `goes_on`: until there are enough rows, however many other conditions drop. It is
    evaluated once, before the first row is fetched, and forgotten with the transaction,
    which most often is the statement: a round trip less than SET LOCAL in one.
    """
    iterative_scan = "strict_order" if goes_on else "off"
    return (
        f"(SELECT set_config('hnsw.iterative_scan', '{iterative_scan}', true)"
        f" || set_config('hnsw.ef_search', '{ef_search}', true)) IS NOT NULL"
    )


def exact_cosines(rows: QuerySet[Any], vector: Vector) -> Scores:
    """Cosine: {id: score} of the nearest rows, by an exact scan.

    It asks the narrow table of vectors. The project stands in both tables, so that
    the planner confines both scans to it.
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

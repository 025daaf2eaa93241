"""The semantic lane: the nearest rows, by the project's own index or by an exact scan."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import (
    BooleanField,
    Exists,
    F,
    FilteredRelation,
    Func,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Value,
)
from django.db.models.functions import Cast
from pgvector.django import CosineDistance, HalfVectorField

from inference.vectors import Vector
from search import vector_indexes

Scores = dict[uuid.UUID, float]

# Each lane's best rows that enter the fusion; both lanes then score all of them.
DEPTH = 100
# A project's nearest rows, of which the filters are asked first: when more than a
# third of the rows pass, DEPTH of these do.
NEAREST = 300
# What HNSW keeps in view while it searches; measured in docs/ranking.md. More than
# NEAREST, or one row more (the sort looks for ties) costs a second search.
EF_SEARCH = 400


def project_nearest(
    model: type[Model], vector: Vector, project_id: uuid.UUID
) -> QuerySet[Any]:
    """The ids of a project's nearest rows, by its index when it has one.

    Only an order by the very expression of `vector_indexes` can use it.
    """
    relation = vectors_of(model)
    owner = relation.field.attname
    width = HalfVectorField(dimensions=len(vector))
    rows: QuerySet[Any] = (
        relation.related_model._base_manager.filter(
            _searched_wide(), project_id=project_id, model=vector.model
        )
        .order_by(CosineDistance(Cast("embedding", width), list(vector)), f"-{owner}")
        .values(owner)[:NEAREST]
    )
    return rows


def _searched_wide() -> Func:
    """A condition that is always true, and sets how an index is searched.

    It is evaluated once, before the first row is fetched, and forgotten with the
    statement: a round trip less than SET LOCAL in a transaction.
    """
    return Func(
        Value(str(EF_SEARCH)),
        template="((SELECT set_config('hnsw.iterative_scan', 'strict_order', true)"
        " || set_config('hnsw.ef_search', %(expressions)s, true)) IS NOT NULL)",
        output_field=BooleanField(),
    )


def semantic_lane(rows: QuerySet[Any], vector: Vector) -> Scores:
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


def with_distance(rows: QuerySet[Any], vector: Vector) -> QuerySet[Any]:
    near = FilteredRelation("vectors", condition=Q(vectors__model=vector.model))
    distance = CosineDistance(F("near__embedding"), list(vector))
    measured: QuerySet[Any] = rows.annotate(near=near).annotate(distance=distance)
    return measured


def vectors_of(model: type[Model]) -> Any:
    return model._meta.get_field("vectors")


def how(
    passed: int, model: type[Model], vector: Vector, project_id: uuid.UUID
) -> dict[str, Any]:
    """What `explain` says of the lane: index or exact, and why.

    `passed` is how many of the project's nearest rows passed the filters.
    """
    if passed < DEPTH:
        why = f"{passed} of the project's {NEAREST} nearest rows pass the filters"
        return {"how": "exact", "why": why}
    index = vector_indexes.name(
        vectors_of(model).related_model, project_id, vector.model
    )
    if index in project_nearest(model, vector, project_id).explain():
        why = "the project has an index of its own"
        return {"how": "index", "why": why, "ef_search": EF_SEARCH}
    least = vector_indexes.FROM_ROWS
    return {"how": "exact", "why": f"no index: fewer than {least} rows, or not built"}

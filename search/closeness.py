"""Which rows of a project are at least so near: by its own index when it has one."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import Model

from inference.vectors import Vector
from search import semantic

# The nearest rows that are looked at, and what HNSW keeps in view meanwhile. What is
# nearly the same text is found early: docs/ranking.md.
LOOKED_AT = 50
EF_SEARCH = 100


@dataclass(frozen=True)
class Close:
    """Cosines of a project's rows, nearest first; not `is_all`: there may be more."""

    scores: semantic.Scores
    is_all: bool

    @property
    def is_empty(self) -> bool:
        return self.is_all and not self.scores

    def without(self, pk: uuid.UUID) -> Close:
        rest = {other: score for other, score in self.scores.items() if other != pk}
        return Close(rest, self.is_all)


def close(
    model: type[Model],
    vectors: Sequence[Vector],
    *,
    project_id: uuid.UUID,
    threshold: float,
) -> list[Close]:
    """For each vector the rows at or above a cosine, in one query for all of them."""
    if not vectors:
        return []
    relation = semantic.vectors_of(model)
    command = CLOSE.format(
        owner=relation.field.column,
        table=relation.related_model._meta.db_table,
        dimensions=len(vectors[0]),
        # Nearly no row is near enough: it would look at all of them.
        searched=semantic.searched(EF_SEARCH, goes_on=False),
    )
    found: list[semantic.Scores] = [{} for _ in vectors]
    with connection.cursor() as cursor:
        cursor.execute(
            command,
            {
                "vectors": [vector.text for vector in vectors],
                "project": project_id,
                "model": vectors[0].model,
                "threshold": threshold,
                "top": LOOKED_AT,
            },
        )
        for place, owner, distance in cursor.fetchall():
            found[place - 1][owner] = 1 - distance
    return [_sure(scores) for scores in found]


# The expression, the project and the model must be those of `vector_indexes.CREATE`. What
# is not near enough is dropped before it is sorted: half of an exact scan.
CLOSE = """
SELECT place, owner, distance
FROM unnest(%(vectors)s::text[]::halfvec[]) WITH ORDINALITY AS asked(vector, place)
CROSS JOIN LATERAL (
    SELECT {owner} AS owner,
           embedding::halfvec({dimensions}) <=> asked.vector AS distance
    FROM {table}
    WHERE project_id = %(project)s AND model = %(model)s
      AND {searched}
      AND embedding::halfvec({dimensions}) <=> asked.vector <= 1 - %(threshold)s
    ORDER BY embedding::halfvec({dimensions}) <=> asked.vector
    LIMIT %(top)s
) AS near
ORDER BY place, distance, owner
"""


def _sure(scores: semantic.Scores) -> Close:
    """When the limit cut, rows as far as the last one may have been cut as well."""
    if len(scores) < LOOKED_AT:
        return Close(scores, is_all=True)
    last = min(scores.values())
    nearer = {pk: score for pk, score in scores.items() if score > last}
    return Close(nearer, is_all=False)

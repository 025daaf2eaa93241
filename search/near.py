"""Find the rows of a project whose cosine similarity to a vector is high enough.

If the project has its own vector index, the statement can use the index.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model

from common.db import Statement, execute_many
from inference.embedding import active_model
from inference.embedding.vector import Vector
from search import semantic

# The number of nearest rows that the statement reads, and also its `hnsw.ef_search`.
# The index finds near-duplicates early: docs/ranking.md.
MAX_NEIGHBOURS = 50
EF_SEARCH = 100


@dataclass(frozen=True)
class Neighbours:
    """The similarities of a project's rows, nearest first; if not `is_all`, rows may be missing.

    A similarity is a cosine on the scale of the bundled model.
    """

    scores: semantic.Scores
    is_all: bool

    @property
    def is_empty(self) -> bool:
        return self.is_all and not self.scores

    def without(self, pk: uuid.UUID) -> Neighbours:
        rest = {other: score for other, score in self.scores.items() if other != pk}
        return Neighbours(rest, self.is_all)

    def with_extra(self, extra: semantic.Scores) -> Neighbours:
        """Return these neighbours together with extra rows whose cosines are known.

        An extra row is left out if rows that were not read may be nearer than the extra
        row.
        """
        least = 0 if self.is_all else min(self.scores.values(), default=math.inf)
        both = self.scores | {pk: each for pk, each in extra.items() if each >= least}
        nearest = sorted(both.items(), key=lambda each: -each[1])
        return Neighbours(dict(nearest), self.is_all)


def find_neighbours(
    model: type[Model],
    vectors: Sequence[Vector],
    *,
    project_id: uuid.UUID,
    threshold: float,
) -> list[Neighbours]:
    """For each vector, find the rows whose similarity to the vector is at least the threshold.

    One query serves all vectors.
    """
    if not vectors:
        return []
    statement = neighbours_statement(
        model, vectors, project_id=project_id, threshold=threshold
    )
    (rows,) = execute_many(statement)
    return read_neighbours(rows, len(vectors), vectors[0].model)


def neighbours_statement(
    model: type[Model],
    vectors: Sequence[Vector],
    *,
    project_id: uuid.UUID,
    threshold: float,
) -> Statement:
    """Return the statement of `find_neighbours`; `read_neighbours` reads its rows.

    A caller can send the statement together with other statements.
    """
    relation = semantic.vectors_of(model)
    command = NEIGHBOURS.format(
        owner=relation.field.column,
        table=relation.related_model._meta.db_table,
        dimensions=len(vectors[0]),
        # The scan is not iterative. Hardly any row is near enough, so an iterative scan
        # would read all rows.
        options=semantic.hnsw_options(EF_SEARCH, iterative=False),
    )
    texts = [vector.text for vector in vectors]
    name = vectors[0].model
    least = active_model.scale_of(name).cosine(threshold)
    return command, [texts, project_id, name, least, MAX_NEIGHBOURS]


def read_neighbours(
    rows: Sequence[tuple[Any, ...]], count: int, model: str
) -> list[Neighbours]:
    """Return the neighbours of each of the `count` vectors, from the rows of the statement."""
    scale = active_model.scale_of(model)
    near: list[semantic.Scores] = [{} for _ in range(count)]
    read = [0] * count
    for place, owner, distance in rows:
        read[place - 1] += 1
        # The nearest chunk of an owner comes first.
        near[place - 1].setdefault(owner, scale.similarity(1 - distance))
    return [
        _drop_cut_ties(scores)
        if vectors == MAX_NEIGHBOURS
        else Neighbours(scores, True)
        for scores, vectors in zip(near, read, strict=True)
    ]


# The expression, the project and the model must be those of `vector_index.CREATE_INDEX`.
# Rows below the threshold are dropped before the sort, which halves an exact scan.
NEIGHBOURS = """
SELECT place, owner, distance
FROM unnest(%s::text[]::halfvec[]) WITH ORDINALITY AS asked(vector, place)
CROSS JOIN LATERAL (
    SELECT {owner} AS owner,
           embedding::halfvec({dimensions}) <=> asked.vector AS distance
    FROM {table}
    WHERE project_id = %s AND model = %s
      AND {options}
      AND embedding::halfvec({dimensions}) <=> asked.vector <= 1 - %s
    ORDER BY embedding::halfvec({dimensions}) <=> asked.vector
    LIMIT %s
) AS near
ORDER BY place, distance, owner
"""


def _drop_cut_ties(scores: semantic.Scores) -> Neighbours:
    """Drop the rows with the greatest distance: the limit may have cut such rows."""
    last = min(scores.values())
    nearer = {pk: score for pk, score in scores.items() if score > last}
    return Neighbours(nearer, is_all=False)

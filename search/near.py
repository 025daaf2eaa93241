"""Find the rows of a project at or above a cosine, by its own index when it has one."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model

from common.db import Statement, execute_many
from inference.embedding.vector import Vector
from search import semantic

# The nearest rows that are read, and the `hnsw.ef_search` for them. Near-duplicates are
# found early: docs/ranking.md.
MAX_NEIGHBOURS = 50
EF_SEARCH = 100


@dataclass(frozen=True)
class Neighbours:
    """Cosines of a project's rows, nearest first; unless `is_all`, there may be more."""

    scores: semantic.Scores
    is_all: bool

    @property
    def is_empty(self) -> bool:
        return self.is_all and not self.scores

    def without(self, pk: uuid.UUID) -> Neighbours:
        rest = {other: score for other, score in self.scores.items() if other != pk}
        return Neighbours(rest, self.is_all)

    def with_extra(self, extra: semantic.Scores) -> Neighbours:
        """Add rows that are known to be near as well.

        If rows that were not read may be nearer than an extra row, it is left out.
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
    """Find the rows at or above a cosine for each vector, in one query."""
    if not vectors:
        return []
    statement = neighbours_statement(
        model, vectors, project_id=project_id, threshold=threshold
    )
    (rows,) = execute_many(statement)
    return read_neighbours(rows, len(vectors))


def neighbours_statement(
    model: type[Model],
    vectors: Sequence[Vector],
    *,
    project_id: uuid.UUID,
    threshold: float,
) -> Statement:
    """The statement of `find_neighbours`, to send with others; see `read_neighbours`."""
    relation = semantic.vectors_of(model)
    command = NEIGHBOURS.format(
        owner=relation.field.column,
        table=relation.related_model._meta.db_table,
        dimensions=len(vectors[0]),
        # Not iterative: hardly any row is near enough, so it would read all rows.
        options=semantic.hnsw_options(EF_SEARCH, iterative=False),
    )
    texts = [vector.text for vector in vectors]
    return command, [texts, project_id, vectors[0].model, threshold, MAX_NEIGHBOURS]


def read_neighbours(rows: Sequence[tuple[Any, ...]], count: int) -> list[Neighbours]:
    """Read the rows of the statement: the neighbours of each of `count` vectors."""
    near: list[semantic.Scores] = [{} for _ in range(count)]
    for place, owner, distance in rows:
        near[place - 1][owner] = 1 - distance
    return [_drop_cut_ties(scores) for scores in near]


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
    """Drop rows as far as the last one if the limit may have cut others of that distance."""
    if len(scores) < MAX_NEIGHBOURS:
        return Neighbours(scores, is_all=True)
    last = min(scores.values())
    nearer = {pk: score for pk, score in scores.items() if score > last}
    return Neighbours(nearer, is_all=False)

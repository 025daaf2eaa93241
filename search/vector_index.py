"""The HNSW indexes of large projects: plan, build, rebuild and drop them.

A shared index with a project filter loses hits: docs/ranking.md, "Semantic lane".
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import connection, transaction
from django.db.models import Count, Model

from common import locks
from inference.embedding import active_model
from inference.embedding.embedder import Embedder

LOCK = "vector indexes"
PREFIX = "hnsw_"
# A project with this many rows gets an index. An exact scan of this many rows takes about
# as long as the rest of a search (docs/ranking.md).
MIN_ROWS = 10_000
# The number of rows of a project with an index is multiplied by this factor, so that an
# index does not come and go. The project keeps its index until it has fewer than four
# fifths of MIN_ROWS, or until a much larger project needs the index's place.
KEEP_FACTOR = 1.25
# The most indexes of a table. Each insert evaluates the condition of every index, and 500 indexes add
# 1.4 ms to an insert.
MAX_INDEXES = 500
# An index is rebuilt when a row takes this many times the bytes that it takes in a fresh
# index.
BLOAT_FACTOR = 2.0
# These values are twice the defaults. A build takes 2.4 times as long, but a search reads a
# third less for the same recall (docs/ranking.md).
OPTIONS = "ef_construction=128"
# HNSW cannot index a `halfvec` with more dimensions. Wider vectors are always scanned.
MAX_DIMENSIONS = 4_000
# The tables of vectors that get indexes. Each app adds its own.
INDEXED_TABLES: list[type[Model]] = []


class IndexWorkRunning(Exception):
    """Another process is working on the indexes."""


class InvalidIndex(Exception):
    """An index was built but is not valid."""


@dataclass(frozen=True)
class VectorIndex:
    """An index in the database; `row_bytes` is the size of a row when it was fresh.

    `is_current` says whether the index was built with the present OPTIONS.
    """

    name: str
    is_valid: bool
    bytes: int
    row_bytes: float
    is_current: bool = True


@dataclass(frozen=True)
class IndexPlan:
    """The changes to make: names of indexes to drop, projects to index or to rebuild."""

    drop: Sequence[str]
    build: Sequence[uuid.UUID]
    rebuild: Sequence[uuid.UUID]

    def __len__(self) -> int:
        return len(self.drop) + len(self.build) + len(self.rebuild)


def index_name(vectors: type[Model], project_id: uuid.UUID, model: str) -> str:
    digest = hashlib.sha256(f"{vectors._meta.db_table} {model}".encode())
    return f"{PREFIX}{project_id.hex}_{digest.hexdigest()[:12]}"


def list_indexes(vectors: type[Model]) -> list[VectorIndex]:
    with connection.cursor() as cursor:
        cursor.execute(LIST_INDEXES, [OPTIONS, vectors._meta.db_table, PREFIX])
        return [
            VectorIndex(name, valid, size, float(comment or 0), current)
            for name, valid, size, comment, current in cursor.fetchall()
        ]


LIST_INDEXES = """
SELECT relname, indisvalid, pg_relation_size(indexrelid),
       obj_description(indexrelid, 'pg_class'), coalesce(%s = ANY(reloptions), false)
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE indrelid = %s::regclass AND starts_with(relname, %s)
ORDER BY relname
"""


def plan_changes(vectors: type[Model]) -> IndexPlan:
    """Compare the existing indexes with the indexes that projects of these sizes need."""
    model = active_model.get()
    rows = _project_rows(vectors, model.name)
    if rows and not 0 < model.dimensions <= MAX_DIMENSIONS:
        rows = {}
    names = {
        project_id: index_name(vectors, project_id, model.name) for project_id in rows
    }
    return decide_changes(list_indexes(vectors), rows, names)


def decide_changes(
    indexes: Sequence[VectorIndex],
    rows: Mapping[uuid.UUID, int],
    names: Mapping[uuid.UUID, str],
) -> IndexPlan:
    valid = {index.name: index for index in indexes if index.is_valid}
    weights = {
        project_id: count * (KEEP_FACTOR if names[project_id] in valid else 1)
        for project_id, count in rows.items()
    }
    largest = sorted(rows, key=lambda project_id: (-weights[project_id], project_id))
    chosen = [each for each in largest[:MAX_INDEXES] if weights[each] >= MIN_ROWS]
    keep = {names[each]: each for each in chosen if names[each] in valid}
    return IndexPlan(
        drop=[index.name for index in indexes if index.name not in keep],
        build=[each for each in chosen if names[each] not in valid],
        rebuild=[
            each
            for index, each in keep.items()
            if not valid[index].is_current
            or valid[index].bytes > BLOAT_FACTOR * valid[index].row_bytes * rows[each]
        ],
    )


def _project_rows(vectors: type[Model], model: str) -> dict[uuid.UUID, int]:
    """Return the number of rows of each project that is (nearly) large enough for an index."""
    return dict(
        vectors._base_manager.filter(model=model)
        .order_by()
        .values("project_id")
        .annotate(rows=Count("pk"))
        .filter(rows__gte=MIN_ROWS / KEEP_FACTOR)
        .values_list("project_id", "rows")
    )


def maintain(
    vectors: type[Model], step: Callable[[int, int], None]
) -> dict[str, list[str]]:
    """Drop, build and rebuild indexes; return a dict of the changed indexes and projects.

    The function runs outside any transaction, in one process at a time. Searches and writes
    go on meanwhile. The function calls `step(done, total)` before each change. Raises
    IndexWorkRunning if another process does the work.
    """
    with locks.try_advisory_lock(LOCK) as is_mine:
        if not is_mine:
            raise IndexWorkRunning
        plan = plan_changes(vectors)
        with locks.no_timeouts():
            for done, change in enumerate(_changes(vectors, plan)):
                step(done, len(plan))
                change()
    return {
        "dropped": list(plan.drop),
        "built": [str(project_id) for project_id in plan.build],
        "rebuilt": [str(project_id) for project_id in plan.rebuild],
    }


def _changes(vectors: type[Model], plan: IndexPlan) -> Iterator[Callable[[], None]]:
    for index in plan.drop:
        yield partial(_drop, index)
    for project_id in plan.build:
        yield partial(build, vectors, project_id)
    for project_id in plan.rebuild:
        yield partial(rebuild, vectors, project_id)


def _drop(index: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{index}"')


def build(vectors: type[Model], project_id: uuid.UUID) -> None:
    """Build a project's index while the project is read and written. Raises InvalidIndex."""
    model = active_model.get()
    _build(vectors, project_id, model, index_name(vectors, project_id, model.name))


def rebuild(vectors: type[Model], project_id: uuid.UUID) -> None:
    """Build a new index and replace the old one with it. Raises InvalidIndex.

    REINDEX is not used, because new options would first need ALTER INDEX. Searches wait for
    ALTER INDEX, and until REINDEX ends the options would describe a graph that does not
    exist yet.
    """
    model = active_model.get()
    index = index_name(vectors, project_id, model.name)
    fresh, old = f"{index}_new", f"{index}_old"
    _build(vectors, project_id, model, fresh)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f'ALTER INDEX "{index}" RENAME TO "{old}"')
        cursor.execute(f'ALTER INDEX "{fresh}" RENAME TO "{index}"')
    _drop(old)


def _build(
    vectors: type[Model], project_id: uuid.UUID, model: Embedder, index: str
) -> None:
    # The statement has no IF NOT EXISTS, which would accept an invalid index of that name.
    create = CREATE_INDEX.format(
        name=index, table=vectors._meta.db_table, dimensions=model.dimensions
    )
    with connection.cursor() as cursor:
        cursor.execute(create, [project_id, model.name])
    _record_row_bytes(vectors, index, project_id, model.name)


# The cast sets the width: models of several widths share the column.
CREATE_INDEX = f"""
CREATE INDEX CONCURRENTLY "{{name}}" ON {{table}}
USING hnsw ((embedding::halfvec({{dimensions}})) halfvec_cosine_ops)
WITH ({OPTIONS})
WHERE project_id = %s AND model = %s
"""


def _record_row_bytes(
    vectors: type[Model], index: str, project_id: uuid.UUID, model: str
) -> None:
    """Record the bytes of a row in a fresh index, so that a bloated index is found later."""
    fresh = next((each for each in list_indexes(vectors) if each.name == index), None)
    if fresh is None or not fresh.is_valid:
        raise InvalidIndex(index)
    rows = vectors._base_manager.filter(project_id=project_id, model=model).count()
    with connection.cursor() as cursor:
        cursor.execute(
            f'COMMENT ON INDEX "{index}" IS %s', [f"{fresh.bytes / max(rows, 1):.0f}"]
        )

"""The HNSW indexes of large projects: which there should be, and making it so.

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
# An exact scan of this many rows takes about as long as all else in a search
# (docs/ranking.md).
MIN_ROWS = 10_000
# An index counts its project for so many times its rows, so that none comes and goes:
# it stays until four fifths of FROM_ROWS, or until a much larger project needs a place.
KEEP_FACTOR = 1.25
# Each insert looks at the condition of every index: 500 cost it 1.4 ms.
MAX_INDEXES = 500
# A rebuild is due when the rows take so many times the bytes that they took at first.
BLOAT_FACTOR = 2.0
# Twice the usual: it takes 2.4 times as long, and then a third less is looked at for the
# same recall (docs/ranking.md).
OPTIONS = "ef_construction=128"
# The widest `halfvec` that HNSW takes; wider vectors are always scanned.
MAX_DIMENSIONS = 4_000


class IndexWorkRunning(Exception):
    """Another process is working on the indexes."""


class InvalidIndex(Exception):
    """An index was built, and is not valid."""


@dataclass(frozen=True)
class VectorIndex:
    """An index as the database has it; `row_bytes` is what a row took at first.

    `is_as_now`: built with the options that it would be built with now.
    """

    name: str
    is_valid: bool
    bytes: int
    row_bytes: float
    is_as_now: bool = True


@dataclass(frozen=True)
class IndexPlan:
    """What there is to do: names to drop and to rebuild, projects to index."""

    drop: Sequence[str]
    build: Sequence[uuid.UUID]
    rebuild: Sequence[uuid.UUID]

    def __len__(self) -> int:
        return len(self.drop) + len(self.build) + len(self.rebuild)


def index_name(vectors: type[Model], project_id: uuid.UUID, model: str) -> str:
    what = hashlib.sha256(f"{vectors._meta.db_table} {model}".encode())
    return f"{PREFIX}{project_id.hex}_{what.hexdigest()[:12]}"


def list_indexes(vectors: type[Model]) -> list[VectorIndex]:
    with connection.cursor() as cursor:
        cursor.execute(LIST_INDEXES, [OPTIONS, vectors._meta.db_table, PREFIX])
        return [
            VectorIndex(name, valid, size, float(comment or 0), as_now)
            for name, valid, size, comment, as_now in cursor.fetchall()
        ]


LIST_INDEXES = """
SELECT relname, indisvalid, pg_relation_size(indexrelid),
       obj_description(indexrelid, 'pg_class'), coalesce(%s = ANY(reloptions), false)
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE indrelid = %s::regclass AND starts_with(relname, %s)
ORDER BY relname
"""


def plan_changes(vectors: type[Model]) -> IndexPlan:
    """Compare the indexes that are there with those that the projects' sizes ask for."""
    model = active_model.get()
    rows = _project_rows(vectors, model.name)
    if rows and not 0 < model.dimensions <= MAX_DIMENSIONS:
        rows = {}
    names = {
        project_id: index_name(vectors, project_id, model.name) for project_id in rows
    }
    return compare(list_indexes(vectors), rows, names)


def compare(
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
    wanted = [each for each in largest[:MAX_INDEXES] if weights[each] >= MIN_ROWS]
    kept = {names[each]: each for each in wanted if names[each] in valid}
    return IndexPlan(
        drop=[index.name for index in indexes if index.name not in kept],
        build=[each for each in wanted if names[each] not in valid],
        rebuild=[
            each
            for index, each in kept.items()
            if not valid[index].is_as_now
            or valid[index].bytes > BLOAT_FACTOR * valid[index].row_bytes * rows[each]
        ],
    )


def _project_rows(vectors: type[Model], model: str) -> dict[uuid.UUID, int]:
    """How many rows each project has, where an index is or may be worth it."""
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
    """Drop, build and rebuild what is due, and say what was done.

    Outside any transaction, one process at a time; `step` is told how much is done of
    how much. Searches and writes go on meanwhile. Raises Busy.
    """
    with locks.try_advisory_lock(LOCK) as mine:
        if not mine:
            raise IndexWorkRunning
        todo = plan_changes(vectors)
        with locks.no_timeouts():
            for done, work in enumerate(_steps(vectors, todo)):
                step(done, len(todo))
                work()
    return {
        "dropped": list(todo.drop),
        "built": [str(project_id) for project_id in todo.build],
        "rebuilt": [str(project_id) for project_id in todo.rebuild],
    }


def _steps(vectors: type[Model], todo: IndexPlan) -> Iterator[Callable[[], None]]:
    for index in todo.drop:
        yield partial(_drop, index)
    for project_id in todo.build:
        yield partial(build, vectors, project_id)
    for project_id in todo.rebuild:
        yield partial(rebuild, vectors, project_id)


def _drop(index: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{index}"')


def build(vectors: type[Model], project_id: uuid.UUID) -> None:
    """Build a project's index while it is read and written. Raises Invalid."""
    model = active_model.get()
    _build(vectors, project_id, model, index_name(vectors, project_id, model.name))


def rebuild(vectors: type[Model], project_id: uuid.UUID) -> None:
    """Build an index anew and swap it in. Raises Invalid.

    Not by REINDEX: new options would have to be set before, by ALTER INDEX, which
    searches wait for, and which tells of a graph that is not there yet.
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
    # Without IF NOT EXISTS, which would take an invalid one for it.
    create = CREATE_INDEX.format(
        name=index, table=vectors._meta.db_table, dimensions=model.dimensions
    )
    with connection.cursor() as cursor:
        cursor.execute(create, [project_id, model.name])
    _record_row_bytes(vectors, index, project_id, model.name)


# The type's width is no column's: models of several widths share the table.
CREATE_INDEX = f"""
CREATE INDEX CONCURRENTLY "{{name}}" ON {{table}}
USING hnsw ((embedding::halfvec({{dimensions}})) halfvec_cosine_ops)
WITH ({OPTIONS})
WHERE project_id = %s AND model = %s
"""


def _record_row_bytes(
    vectors: type[Model], index: str, project_id: uuid.UUID, model: str
) -> None:
    """Note on a fresh index what a row takes in it: what a bloated one is told by."""
    fresh = next((each for each in list_indexes(vectors) if each.name == index), None)
    if fresh is None or not fresh.is_valid:
        raise InvalidIndex(index)
    rows = vectors._base_manager.filter(project_id=project_id, model=model).count()
    with connection.cursor() as cursor:
        cursor.execute(
            f'COMMENT ON INDEX "{index}" IS %s', [f"{fresh.bytes / max(rows, 1):.0f}"]
        )

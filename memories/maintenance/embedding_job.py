"""Embed memories that were stored without a vector, then compare these memories."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q

from common.db import execute_many, write
from inference.embedding import active_model, reembed, row_vectors
from inference.embedding.vector import Vector, batches
from jobs import runner
from memories.duplicates import mark
from memories.models import EmbeddedMemory, Memory, MemoryVector
from memories.queries import MemoryQuerySet
from memories.store.vectors import KIND, insert_statement, put, read_vectors
from search import vector_index

EMBEDDABLE = Q(deleted_at=None, is_duplicate=False)
COMPARE_BATCH = 128  # memories compared between two steps after a change of the model


def rows_to_embed(project_id: uuid.UUID) -> MemoryQuerySet:
    """Return the rows of a project that the active model has not embedded."""
    rows: MemoryQuerySet = Memory.objects.filter(EMBEDDABLE, project_id=project_id)
    return row_vectors.without_vector(rows)


@runner.handler(KIND, attempts=20, silence=timedelta(minutes=5))
def embed_waiting(run: runner.JobRun) -> dict[str, Any]:
    """Embed memories that have no vector, and compare these memories."""
    project_id = run.job.project_id
    assert project_id
    return row_vectors.embed_waiting(
        run, lambda: rows_to_embed(project_id).light(), _text_of, _store_and_check
    )


def _text_of(memory: Memory) -> str:
    return memory.text


@write
def _store_and_check(embedded: Sequence[EmbeddedMemory]) -> None:
    if fresh := _lock_unchanged(embedded):
        put(fresh)
        mark.check_all(fresh[0][0].project, fresh)


def _lock_unchanged(
    embedded: Sequence[EmbeddedMemory],
) -> list[EmbeddedMemory]:
    """Lock the rows; leave out rows whose text changed while the model worked.

    The next query of the job finds the rows that were left out.
    """
    rows = Memory.objects.light().select_for_update(no_key=True).order_by("pk")
    locked = rows.filter(pk__in=[memory.pk for memory, _ in embedded])
    fresh = {memory.pk: memory for memory in locked}
    return [
        (fresh[memory.pk], vectors)
        for memory, vectors in embedded
        if memory.pk in fresh and fresh[memory.pk].text == memory.text
    ]


# The functions below run after a change of the model.


@write
def _store_unchanged(memory: Memory, vectors: list[Vector]) -> None:
    if fresh := _lock_unchanged([(memory, vectors)]):
        execute_many(insert_statement(fresh))


def check_embedded(step: Callable[[], None]) -> None:
    """Compare the memories that were not compared yet, after a change of the model."""
    projects = _memories_to_check().order_by("project_id")
    for project_id in list(projects.values_list("project_id", flat=True).distinct()):
        rows = _memories_to_check().filter(project_id=project_id)
        for ids in _newest_first(rows):
            batch = list(rows.light().filter(pk__in=ids).order_by("pk"))
            _store_and_check(read_vectors(batch))
            step()


def _memories_to_check() -> MemoryQuerySet:
    have = MemoryVector.objects.filter(
        memory=OuterRef("pk"), model=active_model.get().name
    )
    rows: MemoryQuerySet = Memory.objects.filter(
        EMBEDDABLE, Exists(have), is_compared=False
    )
    return rows


def _newest_first(rows: MemoryQuerySet) -> Iterator[Sequence[uuid.UUID]]:
    """Yield batches of memories, beginning with the newest batch.

    All these memories have vectors already. If the oldest batch came first, an original
    would be compared with its duplicates in a later batch, and would be marked as a
    duplicate of one of them.
    """
    ids = rows.order_by("-pk").values_list("pk", flat=True)
    last = uuid.UUID(int=2**128 - 1)
    while window := list(ids.filter(pk__lt=last)[: row_vectors.WINDOW]):
        last = window[-1]
        yield from batches(window, size=COMPARE_BATCH)


vector_index.INDEXED_TABLES.append(MemoryVector)
reembed.register(
    reembed.EmbeddedTable(
        vectors=MemoryVector,
        owner="memory",
        rows=Memory.objects.light(),
        due=EMBEDDABLE,
        text=_text_of,
        store=_store_unchanged,
        kind=KIND,
        finish=check_embedded,
    )
)

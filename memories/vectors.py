"""Vectors of memories: made with the write when the model answers, else by a job."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import structlog
from django.db.models import Exists, OuterRef, Q

from common.writing import write
from inference import embedding, reembedding
from inference.errors import InferenceError
from inference.vectors import Vector
from jobs import errors as job_errors
from jobs import queue, running
from memories.models import Memory, MemoryVector
from memories.queries import MemoryQuerySet

log = structlog.get_logger(__name__)

LIVE = Q(deleted_at=None, is_duplicate=False)
BATCH = 32  # rows embedded between two steps of the job
# A larger batch is answered at once and embedded by a job (03, "Writing").
AT_ONCE = 20


def embed_or_none(texts: Sequence[str]) -> tuple[list[Vector] | None, str]:
    """The vectors of these texts, or None and why there are none yet."""
    if not texts:
        return [], ""
    try:
        return embedding.embed(texts), ""
    except InferenceError as error:
        log.warning("embedding_deferred", texts=len(texts), error=str(error))
        return None, f"not embedded yet, a job will: {error}"


def put(memory: Memory, vector: Vector) -> None:
    """Store a vector; when its model is the active one no more, a job makes another."""
    store(memory, vector)
    if not embedding.is_active(vector):
        embed_later(memory.project_id)


def store(memory: Memory, vector: Vector) -> None:
    MemoryVector.objects.update_or_create(
        memory=memory,
        model=vector.model,
        defaults={"project_id": memory.project_id, "embedding": list(vector)},
    )


def embed_later(project_id: uuid.UUID) -> None:
    queue.enqueue("embed", project_id=project_id, key=str(project_id))


def waiting(project_id: uuid.UUID) -> MemoryQuerySet:
    """Live rows of a project that the active model has not embedded."""
    have = MemoryVector.objects.filter(
        memory=OuterRef("pk"), model=embedding.active().name
    )
    rows: MemoryQuerySet = Memory.objects.filter(
        ~Exists(have), LIVE, project_id=project_id
    )
    return rows


@running.handler("embed", attempts=20, lease=timedelta(minutes=5))
def embed_waiting(run: running.Run) -> dict[str, Any]:
    """Embed what a failing or slow model left behind, then compare it.

    A text that the model refuses is passed over and named in the result.
    """
    assert run.job.project_id
    done, last = 0, uuid.UUID(int=0)
    refused: list[str] = []
    rows = waiting(run.job.project_id).order_by("pk").light()
    while batch := list(rows.filter(pk__gt=last)[:BATCH]):
        last = batch[-1].pk
        for memory, vector in _embedded(batch, refused):
            _keep(memory, vector)
            done += 1
        run.step(done)
    return {"embedded": done, "refused": refused}


def _embedded(
    batch: list[Memory], refused: list[str]
) -> Iterator[tuple[Memory, Vector]]:
    try:
        made = embedding.embed([memory.text for memory in batch])
    except InferenceError as error:
        if error.retryable:
            raise job_errors.Later(str(error)) from error
        if len(batch) == 1:
            refused.append(f"{batch[0].pk}: {error}")
            return
        for memory in batch:
            yield from _embedded([memory], refused)
        return
    yield from zip(batch, made, strict=True)


@write
def _keep(memory: Memory, vector: Vector) -> None:
    from memories import duplicates  # it stores vectors through here

    if fresh := _unchanged(memory):
        put(fresh, vector)
        duplicates.compare(fresh, vector)


def _unchanged(memory: Memory) -> Memory | None:
    """The row, held; None when its text changed while the model worked.

    Its new text is embedded by the next job.
    """
    rows = Memory.objects.select_for_update(no_key=True)
    fresh: Memory | None = rows.filter(pk=memory.pk).first()
    return fresh if fresh and fresh.text == memory.text else None


# The change of the model


@write
def _store_unchanged(memory: Memory, vector: Vector) -> None:
    if fresh := _unchanged(memory):
        store(fresh, vector)


def compare_embedded() -> None:
    """Compare what was not embedded by the model before: with the new one's vectors."""
    found = MemoryVector.objects.filter(
        model=embedding.active().name,
        memory__in=Memory.objects.filter(LIVE, is_compared=False),
    )
    for stored in found.select_related("memory").order_by("memory_id"):
        _keep(stored.memory, stored.vector)


reembedding.SHELVES.append(
    reembedding.Shelf(
        vectors=MemoryVector,
        owner="memory",
        rows=Memory.objects.light(),
        due=LIVE,
        text=lambda memory: memory.text,
        put=_store_unchanged,
        settle=compare_embedded,
    )
)

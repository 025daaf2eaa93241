"""Vectors of memories: made with the write when the model answers, else by a job."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

import structlog
from django.db.models import Exists, OuterRef, Q, QuerySet

from common import locks
from common.db import Statement, execute_many, write
from common.ids import uuid7
from inference.embedding import active_model, reembed, row_vectors
from inference.embedding.vector import Vector, batches
from inference.errors import InferenceError
from jobs import queue, runner
from memories.models import Memory, MemoryVector
from memories.queries import MemoryQuerySet
from search.columns import search_columns_of

log = structlog.get_logger(__name__)

Begun = Future[list[Vector]]

LIVE = Q(deleted_at=None, is_duplicate=False)
# Rows embedded and written between two steps of the job. The model is given them by
# length, so that little is padding: the more, the less.
BATCH = 128
WINDOW = 10_000  # rows looked up at once: each look reads the whole project
# A larger batch is answered at once and embedded by a job.
AT_ONCE = 20


def embed_or_none(texts: Sequence[str]) -> tuple[list[Vector] | None, str]:
    """The vectors of these texts, or None and why there are none yet."""
    try:
        return active_model.embed(texts), ""
    except InferenceError as error:
        log.warning("embedding_deferred", error=str(error))
        return None, f"not embedded yet, a job will: {error}"


def put(
    embedded: Sequence[tuple[Memory, Vector]], *, after: Sequence[Statement] = ()
) -> None:
    """Store the vectors of one project's memories, all by one model, at least one.

    When the model is the active one no more, a job makes others. These statements go
    in the same message, before.
    """
    memory, vector = embedded[0]
    if not active_model.is_active(vector, [*after, _stored(embedded)]):
        embed_later(memory.project_id)


def _stored(embedded: Sequence[tuple[Memory, Vector]]) -> Statement:
    rows = ", ".join(["(%s, %s, %s, %s, %s)"] * len(embedded))
    params: list[Any] = []
    for memory, vector in embedded:
        row = (uuid7(), memory.pk, memory.project_id, vector.model, vector.text)
        params.extend(row)
    return STORE.format(rows=rows), params


# As models, vectors took longer to write into a statement than to store.
STORE = """
INSERT INTO memories_memoryvector (id, memory_id, project_id, model, embedding)
VALUES {rows}
ON CONFLICT (memory_id, model) DO UPDATE SET embedding = excluded.embedding
"""


def embed_later(project_id: uuid.UUID) -> None:
    queue.enqueue("embed", project_id=project_id, key=str(project_id))


def waiting(project_id: uuid.UUID) -> MemoryQuerySet:
    """Live rows of a project that the active model has not embedded."""
    have = MemoryVector.objects.filter(
        memory=OuterRef("pk"), model=active_model.get().name
    )
    rows: MemoryQuerySet = Memory.objects.filter(
        ~Exists(have), LIVE, project_id=project_id
    )
    return rows


@runner.handler("embed", attempts=20, lease=timedelta(minutes=5))
def embed_waiting(run: runner.JobRun) -> dict[str, Any]:
    """Embed what a failing or slow model left behind, then compare it.

    One job of a project works at a time, and looks again when it has let go: the
    others leave their rows to it. A text that the model refuses is passed over and
    named in the result.
    """
    project_id = run.job.project_id
    assert project_id
    done, refused = run.job.done, row_vectors.Refusals()
    while ids := _waiting_ids(project_id, refused):
        with locks.try_advisory_lock(f"embed:{project_id}") as is_mine:
            if not is_mine:
                break
            for batch, begun in _begun(project_id, ids):
                made = list(row_vectors.embed_rows(batch, _text, refused, begun=begun))
                _keep(made)
                done += len(made)
                run.step(done)
                if made:
                    run.give_way()
    return {"embedded": done, "refused": row_vectors.describe(refused)}


def _waiting_ids(
    project_id: uuid.UUID, refused: row_vectors.Refusals
) -> list[uuid.UUID]:
    rows = waiting(project_id).exclude(pk__in=list(refused)).order_by("pk")
    return list(rows.values_list("pk", flat=True)[:WINDOW])


def _begun(
    project_id: uuid.UUID, ids: Sequence[uuid.UUID]
) -> Iterator[tuple[list[Memory], Begun]]:
    """Batches with their vectors on the way: the model works while one is written."""
    before: tuple[list[Memory], Begun] | None = None
    for chosen in batches(ids, size=BATCH):
        rows = waiting(project_id).filter(pk__in=chosen)
        batch = list(rows.light().order_by("pk"))
        begun = active_model.begin_embed(list(map(_text, batch)))
        if before:
            yield before
        before = batch, begun
    if before:
        yield before


def _text(memory: Memory) -> str:
    return memory.text


@write
def _keep(embedded: Sequence[tuple[Memory, Vector]]) -> None:
    from memories import duplicates  # it stores vectors through here

    if fresh := _unchanged(embedded):
        put(fresh)
        duplicates.compare_all(fresh[0][0].project, fresh)


def _unchanged(
    embedded: Sequence[tuple[Memory, Vector]],
) -> list[tuple[Memory, Vector]]:
    """The rows, held, without those whose text changed while the model worked.

    Their new text is embedded by the next look.
    """
    rows = Memory.objects.light().select_for_update(no_key=True).order_by("pk")
    held = rows.filter(pk__in=[memory.pk for memory, _ in embedded])
    fresh = {memory.pk: memory for memory in held}
    return [
        (fresh[memory.pk], vector)
        for memory, vector in embedded
        if memory.pk in fresh and fresh[memory.pk].text == memory.text
    ]


# The change of the model


@write
def _store_unchanged(memory: Memory, vector: Vector) -> None:
    if fresh := _unchanged([(memory, vector)]):
        execute_many(_stored(fresh))


def compare_embedded(step: Callable[[], None]) -> None:
    """Compare what was not embedded by the model before: with the new one's vectors."""
    projects = _uncompared().order_by("project_id").values_list("project_id", flat=True)
    for project_id in list(projects.distinct()):
        rows = _uncompared().filter(project_id=project_id)
        light = rows.select_related("memory").defer(*search_columns_of("memory"))
        for ids in _newest_first(rows):
            batch = light.filter(memory_id__in=ids).order_by("memory_id")
            _keep([(stored.memory, stored.vector) for stored in batch])
            step()


def _uncompared() -> QuerySet[MemoryVector]:
    rows = Memory.objects.filter(LIVE, is_compared=False)
    return MemoryVector.objects.filter(model=active_model.get().name, memory__in=rows)


def _newest_first(rows: QuerySet[MemoryVector]) -> Iterator[Sequence[uuid.UUID]]:
    """Batches of memories, each before those that are older.

    All have their vectors: an original that was compared first would find its
    duplicates of a later batch, and be marked as one of theirs.
    """
    ids = rows.order_by("-memory_id").values_list("memory_id", flat=True)
    last = uuid.UUID(int=2**128 - 1)
    while window := list(ids.filter(memory_id__lt=last)[:WINDOW]):
        last = window[-1]
        yield from batches(window, size=BATCH)


reembed.EMBEDDED_TABLES.append(
    reembed.EmbeddedTable(
        vectors=MemoryVector,
        owner="memory",
        rows=Memory.objects.light(),
        due=LIVE,
        text=_text,
        put=_store_unchanged,
        settle=compare_embedded,
    )
)

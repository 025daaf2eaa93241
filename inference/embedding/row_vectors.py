"""Embed rows in a job, so that a text the model refuses does not stop the others."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from django.db.models import Exists, Model, OuterRef, QuerySet

from inference.embedding import active_model, chunks
from inference.embedding.embedder import Embedder
from inference.embedding.vector import Vector, batches
from inference.errors import InferenceError
from jobs import errors as job_errors
from jobs import runner

R = TypeVar("R", bound=Model)
Rows = TypeVar("Rows", bound=QuerySet[Any])

BATCH_CHUNKS = 128  # chunks embedded between two steps of a job; a model takes seconds
READ = 128  # rows read at a time
WINDOW = 10_000  # ids read at a time; each query scans the whole project
PROBE = "Does the model answer at all?"
PendingVectors = Future[list[list[Vector]]]
Refusals = dict[uuid.UUID, str]  # {id of a row whose text is refused: reason}


def without_vector(rows: Rows) -> Rows:
    """Return the rows that the active model has not embedded.

    The rows have a relation `vectors`.
    """
    relation: Any = rows.model._meta.get_field("vectors")
    of_row = {relation.field.name: OuterRef("pk"), "model": active_model.get().name}
    return rows.filter(~Exists(relation.related_model._base_manager.filter(**of_row)))


def store_chunks(row: Any, vectors: Sequence[Vector]) -> None:
    """Replace the vectors that a model made of a row's chunks."""
    table, owner = row.vectors.model, row.vectors.field.name
    row.vectors.filter(model=vectors[0].model).delete()
    table._base_manager.bulk_create(
        table(
            **{owner: row},
            project_id=row.project_id,
            model=vector.model,
            chunk=chunk,
            embedding=list(vector),
        )
        for chunk, vector in enumerate(vectors)
    )


def each(
    store: Callable[[R, list[Vector]], None],
) -> Callable[[Sequence[tuple[R, list[Vector]]]], None]:
    """Return the function that stores the vectors of each of several rows."""

    def store_each(pairs: Sequence[tuple[R, list[Vector]]]) -> None:
        for row, vectors in pairs:
            store(row, vectors)

    return store_each


def embed_rows(
    rows: Sequence[R],
    text: Callable[[R], str],
    refusals: Refusals,
    *,
    model: Embedder | None = None,
    pending: PendingVectors | None = None,
) -> Iterator[tuple[R, list[Vector]]]:
    """Yield each row with the vectors of its chunks.

    The active model makes the vectors unless `model` is given.

    A row whose text is refused is skipped and added to `refusals`. If the vectors of all
    rows are already being made, `pending` is their future. Raises Later if the model may
    answer later, and Permanent if the model refuses every text.
    """
    if not rows:
        return
    try:
        vectors = (
            pending.result() if pending else _vectors([text(r) for r in rows], model)
        )
    except InferenceError as error:
        if error.retryable:
            raise job_errors.Later(str(error)) from error
        if len(rows) == 1:
            _probe(model)
            refusals[rows[0].pk] = str(error)
            return
        middle = len(rows) // 2
        for half in (rows[:middle], rows[middle:]):
            yield from embed_rows(half, text, refusals, model=model)
        return
    yield from zip(rows, vectors, strict=True)


def embed_waiting(
    run: runner.JobRun,
    rows: Callable[[], QuerySet[R]],
    text: Callable[[R], str],
    store: Callable[[Sequence[tuple[R, list[Vector]]]], None],
) -> dict[str, Any]:
    """Embed rows until none is left: the work of a job. Return the job's result.

    `rows` is called for each batch, because the active model may change between two
    batches. If the model refuses a text, the job skips the text and names it in the result.
    While another job does this work in the project, this one waits.
    """
    run.require_alone()
    done, refusals = run.job.done, Refusals()
    while ids := _first_ids(rows().exclude(pk__in=list(refusals))):
        for batch, pending in _begin_batches(rows, ids, text):
            pairs = list(embed_rows(batch, text, refusals, pending=pending))
            if pairs:
                store(pairs)
            done += len(pairs)
            run.step(done)
            if pairs:
                run.yield_turn()
    return {"embedded": done, "refused": describe(refusals)}


def _first_ids(rows: QuerySet[R]) -> list[uuid.UUID]:
    return list(rows.order_by("pk").values_list("pk", flat=True)[:WINDOW])


def _begin_batches(
    rows: Callable[[], QuerySet[R]],
    ids: Sequence[uuid.UUID],
    text: Callable[[R], str],
) -> Iterator[tuple[list[R], PendingVectors]]:
    """Yield batches of rows with their pending vectors.

    The model embeds one batch while another batch is stored.
    """
    before: tuple[list[R], PendingVectors] | None = None
    for chosen in batches(ids, size=READ):
        for batch in split_by_chunks(rows().filter(pk__in=chosen).order_by("pk"), text):
            pending = active_model.begin_chunks(list(map(text, batch)))
            if before:
                yield before
            before = batch, pending
    if before:
        yield before


def split_by_chunks(rows: Iterable[R], text: Callable[[R], str]) -> Iterator[list[R]]:
    """Split rows into batches of about BATCH_CHUNKS chunks, so that a step takes seconds."""
    batch: list[R] = []
    size = 0
    for row in rows:
        count = chunks.estimate_count(text(row))
        if batch and size + count > BATCH_CHUNKS:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += count
    if batch:
        yield batch


def describe(refusals: Mapping[uuid.UUID, str]) -> list[str]:
    """Return a line `id: reason` for each refusal, for the result of a job."""
    return [f"{pk}: {reason}" for pk, reason in refusals.items()]


def _vectors(texts: Sequence[str], model: Embedder | None) -> list[list[Vector]]:
    return active_model.embed_chunks_with(model or active_model.get(), texts)


def _probe(model: Embedder | None) -> None:
    """Find out whether the model refuses only this text or every text."""
    try:
        _vectors([PROBE], model)
    except InferenceError as error:
        kind = job_errors.Later if error.retryable else job_errors.Permanent
        raise kind(str(error)) from error

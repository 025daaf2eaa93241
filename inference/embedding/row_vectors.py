"""Embed rows in a job, so that a text the model refuses does not stop the others."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from django.db.models import Exists, Model, OuterRef, QuerySet

from inference.embedding import active_model
from inference.embedding.embedder import Embedder
from inference.embedding.vector import Vector
from inference.errors import InferenceError
from jobs import errors as job_errors
from jobs import runner

R = TypeVar("R", bound=Model)
Rows = TypeVar("Rows", bound=QuerySet[Any])

BATCH = 32  # rows embedded between two steps of a job
PROBE = "Does the model answer at all?"
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


def embed_rows(
    rows: Sequence[R],
    text: Callable[[R], str],
    refusals: Refusals,
    *,
    model: Embedder | None = None,
    pending: Future[list[list[Vector]]] | None = None,
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
    store: Callable[[R, list[Vector]], None],
) -> dict[str, Any]:
    """Embed rows until none is left: the work of a job. Return the job's result.

    `rows` is called for each batch, because the active model may change between two
    batches.
    """
    done, refusals = run.job.done, Refusals()
    while batch := list(rows().exclude(pk__in=list(refusals)).order_by("pk")[:BATCH]):
        pairs = list(embed_rows(batch, text, refusals))
        for row, vectors in pairs:
            store(row, vectors)
        done += len(pairs)
        run.step(done)
        if pairs:
            run.yield_turn()
    return {"embedded": done, "refused": describe(refusals)}


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

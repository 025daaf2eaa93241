"""Embed rows for a job: a text that the model refuses does not hold up the others."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from inference.embedding import active_model
from inference.embedding.embedder import Embedder
from inference.embedding.vector import Vector
from inference.errors import InferenceError
from jobs import errors as job_errors
from jobs import runner

R = TypeVar("R", bound=Model)

BATCH = 32  # rows embedded between two steps of a job
PROBE = "Does the model answer at all?"
Refusals = dict[uuid.UUID, str]  # of rows whose text is refused


def embed_rows(
    rows: Sequence[R],
    text: Callable[[R], str],
    refused: Refusals,
    *,
    model: Embedder | None = None,
    begun: Future[list[Vector]] | None = None,
) -> Iterator[tuple[R, Vector]]:
    """Each row with its vector, by the active model unless another is meant.

    A row whose text is refused is left out and noted in `refused`. `begun` is what
    makes the vectors of all rows already. Raises Later where the model may answer
    later, Permanent where it refuses whatever it is asked.
    """
    if not rows:
        return
    try:
        made = begun.result() if begun else _vectors([text(r) for r in rows], model)
    except InferenceError as error:
        if error.retryable:
            raise job_errors.Later(str(error)) from error
        if len(rows) == 1:
            _probe(model)
            refused[rows[0].pk] = str(error)
            return
        middle = len(rows) // 2
        for half in (rows[:middle], rows[middle:]):
            yield from embed_rows(half, text, refused, model=model)
        return
    yield from zip(rows, made, strict=True)


def embed_waiting(
    run: runner.JobRun,
    rows: Callable[[], QuerySet[R]],
    text: Callable[[R], str],
    keep: Callable[[R, Vector], None],
) -> dict[str, Any]:
    """Embed the rows that wait until none is left: a job's work and its result.

    They are asked for anew each time, as the active model may change meanwhile.
    """
    done, refused = run.job.done, Refusals()
    while batch := list(rows().exclude(pk__in=list(refused)).order_by("pk")[:BATCH]):
        made = list(embed_rows(batch, text, refused))
        for row, vector in made:
            keep(row, vector)
        done += len(made)
        run.step(done)
        if made:
            run.yield_turn()
    return {"embedded": done, "refused": describe(refused)}


def describe(refused: Mapping[uuid.UUID, str]) -> list[str]:
    """What a job's result says of them."""
    return [f"{pk}: {why}" for pk, why in refused.items()]


def _vectors(texts: Sequence[str], model: Embedder | None) -> list[Vector]:
    return active_model.embed_with(model or active_model.get(), texts)


def _probe(model: Embedder | None) -> None:
    """Tell a text that the model refuses from a model that refuses every text."""
    try:
        _vectors([PROBE], model)
    except InferenceError as error:
        kind = job_errors.Later if error.retryable else job_errors.Permanent
        raise kind(str(error)) from error

"""Vectors of waiting and rejected lessons, by which a paraphrase is recognized."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from inference.embedding import active_model, reembed, row_vectors
from inference.embedding.vector import Vector
from jobs import queue, runner
from playbook.models import DeltaVector, PlaybookDelta
from playbook.queries import REFUSED_BY_PERSON

Status = PlaybookDelta.DeltaStatus
LESSON_OPERATIONS = (
    PlaybookDelta.DeltaOperation.ADD,
    PlaybookDelta.DeltaOperation.UPDATE,
)
KNOWN_LESSONS = REFUSED_BY_PERSON | Q(status=Status.PENDING)


def keep(delta: PlaybookDelta, vector: Vector | None) -> None:
    """Store the vector of a waiting lesson, so that a rejection needs no model."""
    if (
        vector
        and delta.status == Status.PENDING
        and delta.operation in LESSON_OPERATIONS
    ):
        _put(delta, [vector])


def find(delta: PlaybookDelta) -> Vector | None:
    """Return the stored vector of the text that was proposed."""
    stored = delta.vectors.filter(model=active_model.get().name).first()
    return stored.vector if stored else None


def drop(delta: PlaybookDelta) -> None:
    """Delete the vectors of an accepted delta.

    The entry of the delta has its own vectors.
    """
    delta.vectors.all().delete()


def embed_later(project_id: uuid.UUID) -> None:
    queue.enqueue("embed_deltas", project_id=project_id, key=str(project_id))


def missing_vectors(project_id: uuid.UUID) -> QuerySet[PlaybookDelta]:
    """Find the waiting and rejected lessons that have no vector by the active model."""
    rows: QuerySet[PlaybookDelta] = PlaybookDelta.objects.filter(
        KNOWN_LESSONS, project_id=project_id, operation__in=LESSON_OPERATIONS
    )
    rows = row_vectors.without_vector(rows)
    return rows.exclude(content="")


@runner.handler("embed_deltas", attempts=20, silence=timedelta(minutes=5))
def embed_missing(run: runner.JobRun) -> dict[str, Any]:
    """Embed the lessons that have no vector yet."""
    project_id = run.job.project_id
    assert project_id
    return row_vectors.embed_waiting(
        run, lambda: missing_vectors(project_id), _text, row_vectors.each(_put)
    )


def _text(delta: PlaybookDelta) -> str:
    return delta.content


def _put(delta: PlaybookDelta, vectors: Sequence[Vector]) -> None:
    _store_unchanged(delta, vectors)
    if not active_model.is_active(vectors[0]):
        embed_later(delta.project_id)


def _store_unchanged(delta: PlaybookDelta, vectors: Sequence[Vector]) -> None:
    """Store the vector of the first chunk unless the text changed while the model worked."""
    rows = PlaybookDelta.objects.select_for_update(no_key=True)
    with transaction.atomic():
        if rows.filter(pk=delta.pk, content=delta.content).exists():
            DeltaVector.objects.update_or_create(
                delta=delta,
                model=vectors[0].model,
                defaults={
                    "project_id": delta.project_id,
                    "embedding": list(vectors[0]),
                },
            )


# Re-embedding after a change of the model


reembed.register(
    reembed.EmbeddedTable(
        vectors=DeltaVector,
        owner="delta",
        rows=PlaybookDelta.objects.exclude(content=""),
        due=KNOWN_LESSONS & Q(operation__in=LESSON_OPERATIONS),
        text=_text,
        store=_store_unchanged,
        kind="embed_deltas",
    )
)

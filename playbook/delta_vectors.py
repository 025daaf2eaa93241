"""Vectors of lessons that wait or were rejected, so that a paraphrase is recognized."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from inference.embedding import active_model, reembed, row_vectors
from inference.embedding.vector import Vector
from jobs import queue, runner
from playbook.models import DeltaVector, PlaybookDelta

Status = PlaybookDelta.DeltaStatus
LESSON_OPERATIONS = (
    PlaybookDelta.DeltaOperation.ADD,
    PlaybookDelta.DeltaOperation.UPDATE,
)
REFUSED_BY_PERSON = Q(status=Status.REJECTED) & ~Q(reviewer="")
KNOWN_LESSONS = REFUSED_BY_PERSON | Q(status=Status.PENDING)


def keep(delta: PlaybookDelta, vector: Vector | None) -> None:
    """Keep the vector of a lesson that waits: a rejection needs no model then."""
    if (
        vector
        and delta.status == Status.PENDING
        and delta.operation in LESSON_OPERATIONS
    ):
        _put(delta, vector)


def find(delta: PlaybookDelta) -> Vector | None:
    """The vector that was kept for the text as it was proposed."""
    kept = delta.vectors.filter(model=active_model.get().name).first()
    return kept.vector if kept else None


def drop(delta: PlaybookDelta) -> None:
    """An accepted text is known as an entry."""
    delta.vectors.all().delete()


def embed_later(project_id: uuid.UUID) -> None:
    queue.enqueue("embed_deltas", project_id=project_id, key=str(project_id))


def missing_vectors(project_id: uuid.UUID) -> QuerySet[PlaybookDelta]:
    """Lessons of a project that are looked for and have no vector of the model."""
    have = DeltaVector.objects.filter(
        delta=OuterRef("pk"), model=active_model.get().name
    )
    rows: QuerySet[PlaybookDelta] = PlaybookDelta.objects.filter(
        KNOWN_LESSONS,
        ~Exists(have),
        project_id=project_id,
        operation__in=LESSON_OPERATIONS,
    )
    return rows.exclude(content="")


@runner.handler("embed_deltas", attempts=20, lease=timedelta(minutes=5))
def embed_missing(run: runner.JobRun) -> dict[str, Any]:
    """Embed the lessons that the model did not answer for when they came."""
    project_id = run.job.project_id
    assert project_id
    return row_vectors.embed_waiting(
        run, lambda: missing_vectors(project_id), _text, _put
    )


def _text(delta: PlaybookDelta) -> str:
    return delta.content


def _put(delta: PlaybookDelta, vector: Vector) -> None:
    _store_unchanged(delta, vector)
    if not active_model.is_active(vector):
        embed_later(delta.project_id)


def _store_unchanged(delta: PlaybookDelta, vector: Vector) -> None:
    """Keep a vector, unless the text changed while the model worked."""
    rows = PlaybookDelta.objects.select_for_update(no_key=True)
    with transaction.atomic():
        if rows.filter(pk=delta.pk, content=delta.content).exists():
            DeltaVector.objects.update_or_create(
                delta=delta,
                model=vector.model,
                defaults={"project_id": delta.project_id, "embedding": list(vector)},
            )


# The change of the model


reembed.EMBEDDED_TABLES.append(
    reembed.EmbeddedTable(
        vectors=DeltaVector,
        owner="delta",
        rows=PlaybookDelta.objects.exclude(content=""),
        due=KNOWN_LESSONS & Q(operation__in=LESSON_OPERATIONS),
        text=_text,
        put=_store_unchanged,
    )
)

"""Vectors of entries: made with the write when the model answers, else by a job."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from inference import embedding, reembedding
from inference.errors import InferenceError
from inference.vectors import Vector
from jobs import errors as job_errors
from jobs import queue, running
from playbook.models import EntryVector, PlaybookEntry
from playbook.queries import EntryQuerySet

BATCH = 32  # rows embedded between two steps of the job


def put(entry: PlaybookEntry, vector: Vector) -> None:
    """Store a vector; when its model is the active one no more, a job makes another."""
    store(entry, vector)
    if not embedding.is_active(vector):
        embed_later(entry.project_id)


def store(entry: PlaybookEntry, vector: Vector) -> None:
    EntryVector.objects.update_or_create(
        entry=entry,
        model=vector.model,
        defaults={"project_id": entry.project_id, "embedding": list(vector)},
    )


def add(entry: PlaybookEntry, vector: Vector) -> None:
    """Store the vector of a text that has none: new, or changed in this transaction."""
    EntryVector.objects.create(
        entry=entry,
        project_id=entry.project_id,
        model=vector.model,
        embedding=list(vector),
    )
    if not embedding.is_active(vector):
        embed_later(entry.project_id)


def drop(entry: PlaybookEntry) -> None:
    """Forget the vectors of a text that is no more."""
    entry.vectors.all().delete()


def embed_later(project_id: uuid.UUID) -> None:
    queue.enqueue("embed_entries", project_id=project_id, key=str(project_id))


def waiting(project_id: uuid.UUID) -> EntryQuerySet:
    """Entries of a project that the active model has not embedded."""
    have = EntryVector.objects.filter(
        entry=OuterRef("pk"), model=embedding.active().name
    )
    rows: EntryQuerySet = PlaybookEntry.objects.filter(
        ~Exists(have), project_id=project_id
    )
    return rows.exclude(status=PlaybookEntry.Status.DELETED)


@running.handler("embed_entries", attempts=20, lease=timedelta(minutes=5))
def embed_waiting(run: running.Run) -> dict[str, int]:
    """Embed what a failing or slow model left behind."""
    project_id = run.job.project_id
    assert project_id
    done = run.job.done
    # Asked anew each time: the active model may change meanwhile.
    while batch := list(waiting(project_id).order_by("pk").light()[:BATCH]):
        try:
            vectors = embedding.embed([entry.content for entry in batch])
        except InferenceError as error:
            kind = job_errors.Later if error.retryable else job_errors.Permanent
            raise kind(str(error)) from error
        for entry, vector in zip(batch, vectors, strict=True):
            _keep(entry, vector, put)
        done += len(batch)
        run.step(done)
        run.give_way()
    return {"embedded": done}


def _keep(
    entry: PlaybookEntry, vector: Vector, keep: Callable[[PlaybookEntry, Vector], None]
) -> None:
    """Changed while the model worked: its new text is embedded next."""
    with transaction.atomic():
        rows = PlaybookEntry.objects.light().select_for_update(no_key=True)
        fresh = rows.filter(pk=entry.pk, similarity_hash=entry.similarity_hash).first()
        if fresh:
            keep(fresh, vector)


# The change of the model


reembedding.SHELVES.append(
    reembedding.Shelf(
        vectors=EntryVector,
        owner="entry",
        rows=PlaybookEntry.objects.light(),
        due=~Q(status=PlaybookEntry.Status.DELETED),
        text=lambda entry: entry.content,
        put=lambda entry, vector: _keep(entry, vector, store),
    )
)

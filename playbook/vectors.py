"""Vectors of entries: made with the write when the model answers, else by a job."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef

from inference import embedding
from inference.errors import InferenceError
from jobs import errors as job_errors
from jobs import queue, running
from playbook.models import EntryVector, PlaybookEntry
from playbook.queries import EntryQuerySet

BATCH = 32  # rows embedded between two steps of the job


def put(entry: PlaybookEntry, vector: Sequence[float]) -> None:
    EntryVector.objects.update_or_create(
        entry=entry,
        model=embedding.active().name,
        defaults={"project_id": entry.project_id, "embedding": list(vector)},
    )


def add(entry: PlaybookEntry, vector: Sequence[float]) -> None:
    """Store the vector of a text that has none: new, or changed in this transaction."""
    EntryVector.objects.create(
        entry=entry,
        project_id=entry.project_id,
        model=embedding.active().name,
        embedding=list(vector),
    )


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
    assert run.job.project_id
    rows = waiting(run.job.project_id).order_by("pk").light()
    done = run.job.done
    while batch := list(rows[:BATCH]):
        try:
            vectors = embedding.active().embed([entry.content for entry in batch])
        except InferenceError as error:
            kind = job_errors.Later if error.retryable else job_errors.Permanent
            raise kind(str(error)) from error
        for entry, vector in zip(batch, vectors, strict=True):
            _put_if_unchanged(entry, vector)
        done += len(batch)
        run.step(done)
    return {"embedded": done}


def _put_if_unchanged(entry: PlaybookEntry, vector: Sequence[float]) -> None:
    """Changed while the model worked: its new text is embedded next."""
    with transaction.atomic():
        fresh = (
            PlaybookEntry.objects.light()
            .select_for_update(no_key=True)
            .get(pk=entry.pk)
        )
        if fresh.similarity_hash == entry.similarity_hash:
            put(fresh, vector)

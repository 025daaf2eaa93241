"""Vectors of entries.

A vector is stored together with the entry. If the model did not answer, a job stores
the vector later.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from inference.embedding import active_model, reembed, row_vectors
from inference.embedding.vector import Vector
from jobs import queue, runner
from playbook.models import EntryVector, PlaybookEntry
from playbook.queries import EntryQuerySet


def put(entry: PlaybookEntry, vectors: Sequence[Vector]) -> None:
    """Store the vectors of an entry's chunks.

    If the vectors' model is no longer the active one, enqueue a job.
    """
    row_vectors.store_chunks(entry, vectors)
    if not active_model.is_active(vectors[0]):
        embed_later(entry.project_id)


def add(entry: PlaybookEntry, vector: Vector) -> None:
    """Store the vector of a text that has no vector yet.

    The text is new, or was changed in this transaction. A job embeds a long text.
    """
    is_short = len(active_model.get().split(entry.content)) == 1
    if is_short:
        row_vectors.store_chunks(entry, [vector])
    if not (is_short and active_model.is_active(vector)):
        embed_later(entry.project_id)


def drop(entry: PlaybookEntry) -> None:
    """Delete the vectors of a text that was replaced."""
    entry.vectors.all().delete()


def embed_later(project_id: uuid.UUID) -> None:
    queue.enqueue("embed_entries", project_id=project_id, key=str(project_id))


def missing_vectors(project_id: uuid.UUID) -> EntryQuerySet:
    """Find the entries of a project that have no vector by the active model."""
    rows: EntryQuerySet = PlaybookEntry.objects.filter(project_id=project_id)
    rows = row_vectors.without_vector(rows)
    return rows.exclude(status=PlaybookEntry.EntryStatus.DELETED)


@runner.handler("embed_entries", attempts=20, silence=timedelta(minutes=5))
def embed_missing(run: runner.JobRun) -> dict[str, Any]:
    """Embed the entries that have no vector yet."""
    project_id = run.job.project_id
    assert project_id
    return row_vectors.embed_waiting(
        run,
        lambda: missing_vectors(project_id).light(),
        _text,
        row_vectors.each(
            lambda entry, vectors: _store_if_unchanged(entry, vectors, put)
        ),
    )


def _text(entry: PlaybookEntry) -> str:
    return entry.content


def _store_if_unchanged(
    entry: PlaybookEntry,
    vectors: Sequence[Vector],
    keep: Callable[[PlaybookEntry, Sequence[Vector]], None],
) -> None:
    """Store the vectors unless the text changed while the model worked."""
    with transaction.atomic():
        rows = PlaybookEntry.objects.light().select_for_update(no_key=True)
        fresh = rows.filter(pk=entry.pk, similarity_hash=entry.similarity_hash).first()
        if fresh:
            keep(fresh, vectors)


# Re-embedding after a change of the model


reembed.register(
    reembed.EmbeddedTable(
        vectors=EntryVector,
        owner="entry",
        rows=PlaybookEntry.objects.light(),
        due=~Q(status=PlaybookEntry.EntryStatus.DELETED),
        text=_text,
        store=lambda entry, vectors: _store_if_unchanged(
            entry, vectors, row_vectors.store_chunks
        ),
        kind="embed_entries",
    )
)

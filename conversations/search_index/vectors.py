"""Embed the words of messages and the text of summaries, by jobs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from conversations.models import Message, MessageVector, Summary, SummaryVector
from conversations.search_index.search_columns import words_of
from inference.embedding import active_model, reembed, row_vectors
from inference.embedding.vector import Vector
from jobs import queue, runner
from search import vector_index

# The messages that need a vector. Results of tools are found by their words only.
WITH_WORDS = Q(has_words=True, hidden_at=None)


def embed_messages_later(project_id: uuid.UUID) -> None:
    queue.enqueue("embed_messages", project_id=project_id, key=str(project_id))


def embed_summaries_later(project_id: uuid.UUID) -> None:
    queue.enqueue("embed_summaries", project_id=project_id, key=str(project_id))


@runner.handler("embed_messages", attempts=20, silence=timedelta(minutes=5))
def embed_messages(run: runner.JobRun) -> dict[str, Any]:
    """Embed the messages of a project that have words and no vector."""
    rows = Message.objects.light().filter(WITH_WORDS, project_id=run.job.project_id)
    return row_vectors.embed_waiting(
        run,
        lambda: row_vectors.without_vector(rows),
        words_of,
        row_vectors.each(_put_message),
    )


@runner.handler("embed_summaries", attempts=20, silence=timedelta(minutes=5))
def embed_summaries(run: runner.JobRun) -> dict[str, Any]:
    """Embed the summaries of a project that have no vector."""
    rows = Summary.objects.light().filter(project_id=run.job.project_id)
    return row_vectors.embed_waiting(
        run,
        lambda: row_vectors.without_vector(rows),
        _content,
        row_vectors.each(_put_summary),
    )


def _content(summary: Summary) -> str:
    return summary.content


@transaction.atomic
def _put_message(message: Message, vectors: Sequence[Vector]) -> None:
    """Store vectors; if their model is no longer the active one, enqueue a job."""
    store_message(message, vectors)
    if not active_model.is_active(vectors[0]):
        embed_messages_later(message.project_id)


@transaction.atomic
def _put_summary(summary: Summary, vectors: Sequence[Vector]) -> None:
    """Like `_put_message`."""
    store_summary(summary, vectors)
    if not active_model.is_active(vectors[0]):
        embed_summaries_later(summary.project_id)


@transaction.atomic
def store_message(message: Message, vectors: Sequence[Vector]) -> None:
    """Store the vectors of a message, unless its text changed while the model worked."""
    rows = Message.objects.light().select_for_update(no_key=True)
    fresh = rows.filter(pk=message.pk).first()
    if fresh and fresh.parts == message.parts:
        row_vectors.store_chunks(fresh, vectors)


@transaction.atomic
def store_summary(summary: Summary, vectors: Sequence[Vector]) -> None:
    """Store the vectors of a summary, unless the summary was deleted meanwhile."""
    rows = Summary.objects.light().select_for_update(no_key=True)
    if fresh := rows.filter(pk=summary.pk).first():
        row_vectors.store_chunks(fresh, vectors)


reembed.register(
    reembed.EmbeddedTable(
        vectors=MessageVector,
        owner="message",
        rows=Message.objects.light(),
        due=WITH_WORDS,
        text=words_of,
        store=store_message,
        kind="embed_messages",
        release=1,
    )
)
reembed.register(
    reembed.EmbeddedTable(
        vectors=SummaryVector,
        owner="summary",
        rows=Summary.objects.light(),
        due=Q(),
        text=_content,
        store=store_summary,
        kind="embed_summaries",
        release=1,
    )
)
vector_index.INDEXED_TABLES.extend((MessageVector, SummaryVector))

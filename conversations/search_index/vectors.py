"""Embed the words of messages and the text of summaries, by jobs."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from conversations.models import Message, MessageVector, Summary, SummaryVector
from conversations.search_index.search_columns import words_of
from inference.embedding import active_model, reembed, row_vectors
from inference.embedding.vector import Vector
from jobs import queue, runner

# The messages that need a vector. Results of tools are found by their words only.
WITH_WORDS = Q(has_words=True, hidden_at=None)


def embed_messages_later(project_id: uuid.UUID) -> None:
    queue.enqueue("embed_messages", project_id=project_id, key=str(project_id))


def embed_summaries_later(project_id: uuid.UUID) -> None:
    queue.enqueue("embed_summaries", project_id=project_id, key=str(project_id))


def _without_vector(
    rows: QuerySet[Any], vectors: type[Model], owner: str
) -> QuerySet[Any]:
    """Return the rows that the active model has not embedded."""
    existing = vectors._base_manager.filter(
        **{owner: OuterRef("pk"), "model": active_model.get().name}
    )
    return rows.filter(~Exists(existing))


@runner.handler("embed_messages", attempts=20, lease=timedelta(minutes=5))
def embed_messages(run: runner.JobRun) -> dict[str, Any]:
    """Embed the messages of a project that have words and no vector."""
    rows = Message.objects.light().filter(WITH_WORDS, project_id=run.job.project_id)
    return row_vectors.embed_waiting(
        run,
        lambda: _without_vector(rows, MessageVector, "message"),
        words_of,
        store_message,
    )


@runner.handler("embed_summaries", attempts=20, lease=timedelta(minutes=5))
def embed_summaries(run: runner.JobRun) -> dict[str, Any]:
    """Embed the summaries of a project that have no vector."""
    rows = Summary.objects.light().filter(project_id=run.job.project_id)
    return row_vectors.embed_waiting(
        run,
        lambda: _without_vector(rows, SummaryVector, "summary"),
        _content,
        store_summary,
    )


def _content(summary: Summary) -> str:
    return summary.content


def store_message(message: Message, vectors: Sequence[Vector]) -> None:
    """Store the vectors of a message, unless its text changed while the model worked."""

    def is_same(fresh: Message) -> bool:
        return bool(fresh.parts == message.parts)

    _store(Message.objects.light(), message, vectors, is_same, MessageVector, "message")


def store_summary(summary: Summary, vectors: Sequence[Vector]) -> None:
    """Store the vectors of a summary, unless the summary was deleted meanwhile."""
    _store(
        Summary.objects.light(),
        summary,
        vectors,
        lambda fresh: True,
        SummaryVector,
        "summary",
    )


def _store(
    rows: QuerySet[Any],
    row: Model,
    vectors: Sequence[Vector],
    is_same: Callable[[Any], bool],
    table: type[Model],
    owner: str,
) -> None:
    with transaction.atomic():
        fresh = rows.select_for_update(no_key=True).filter(pk=row.pk).first()
        if fresh is None or not is_same(fresh):
            return
        manager = table._base_manager
        manager.filter(**{owner: fresh, "model": vectors[0].model}).delete()
        manager.bulk_create(
            table(
                **{owner: fresh},
                project_id=fresh.project_id,
                model=vector.model,
                chunk=chunk,
                embedding=list(vector),
            )
            for chunk, vector in enumerate(vectors)
        )


reembed.register(
    reembed.EmbeddedTable(
        vectors=MessageVector,
        owner="message",
        rows=Message.objects.light(),
        due=WITH_WORDS,
        text=words_of,
        store=store_message,
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
        release=1,
    )
)

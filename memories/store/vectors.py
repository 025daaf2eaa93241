"""Embed memories in the write that stores them, or leave them to a job."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

import structlog

from common.db import Statement
from common.ids import uuid7
from inference.embedding import active_model, chunks
from inference.embedding.vector import Vector
from inference.errors import InferenceError
from jobs import queue
from memories.models import EmbeddedMemory, Memory, MemoryVector

log = structlog.get_logger(__name__)

KIND = "embed"  # the kind of the job that embeds memories
# A larger batch is stored without vectors, and a job embeds it later.
MAX_INLINE = 20
# The beginning of each note on a memory that is stored without a vector.
NOT_YET = "not embedded yet"
LONG = f"{NOT_YET}: a job embeds long texts"
LARGE_BATCH = f"{NOT_YET}: a job embeds large batches"


class InlineVector(NamedTuple):
    """The vector of a short text; without it, `note` says why there is none."""

    vector: Vector | None = None
    note: str = ""


def embed_short(texts: Sequence[str]) -> list[InlineVector]:
    """Embed the texts that have one chunk; a job embeds longer texts.

    If the model does not answer, the job embeds all texts.
    """
    try:
        model = active_model.get()
        parts = [model.split(text) for text in texts]
        short = [part[0] for part in parts if len(part) == 1]
        embedded = iter(active_model.embed_with(model, short))
    except InferenceError as error:
        log.warning("embedding_deferred", error=str(error))
        return [InlineVector(note=f"{NOT_YET}, a job will: {error}")] * len(texts)
    return [
        InlineVector(next(embedded)) if len(part) == 1 else InlineVector(note=LONG)
        for part in parts
    ]


def describe_cut(text: str) -> str:
    """Return a note if the model does not read all of a text, or an empty text.

    Without a model the note is left out, because nothing is known about its tokens.
    """
    if len(text) <= chunks.MIN_CUT:
        return ""
    try:
        _, end = active_model.get().find_spans(text)[-1]
    except InferenceError as error:
        log.warning("cut_unknown", error=str(error))
        return ""
    if end == len(text):
        return ""
    return (
        f"the first {end} of {len(text)} characters are embedded; what lies beyond is "
        "found by its words only"
    )


def put(
    embedded: Sequence[EmbeddedMemory], *, before: Sequence[Statement] = ()
) -> None:
    """Store the vectors of at least one memory.

    All memories belong to one project, and one model made all vectors. The statements
    `before` run in the same round trip. If the model is no longer the active one, a job is
    enqueued that embeds the memories anew.
    """
    memory, (vector, *_) = embedded[0]
    if not active_model.is_active(vector, [*before, insert_statement(embedded)]):
        embed_later(memory.project_id)


def insert_statement(embedded: Sequence[EmbeddedMemory]) -> Statement:
    params: list[Any] = []
    for memory, vectors in embedded:
        for chunk, vector in enumerate(vectors):
            span = vector.span or (None, None)
            row = (
                memory.pk,
                memory.project_id,
                vector.model,
                chunk,
                *span,
                vector.text,
            )
            params += [uuid7(), *row]
    rows = ", ".join([PLACES] * (len(params) // PLACES.count("%s")))
    return STORE.format(rows=rows), params


PLACES = "(%s, %s, %s, %s, %s, %s::int, %s::int, %s)"
# The SQL is plain. With models, building the statement took longer than running it.
STORE = """
INSERT INTO memories_memoryvector
    (id, memory_id, project_id, model, chunk, starts_at, ends_at, embedding)
VALUES {rows}
ON CONFLICT (memory_id, model, chunk) DO UPDATE SET
    starts_at = excluded.starts_at, ends_at = excluded.ends_at,
    embedding = excluded.embedding
"""


def read_vectors(memories: Sequence[Memory]) -> list[EmbeddedMemory]:
    """Read the active model's vectors of memories; memories without vectors are left out."""
    rows = MemoryVector.objects.filter(
        memory__in=memories, model=active_model.get().name
    ).order_by("memory_id", "chunk")
    vectors: dict[uuid.UUID, list[Vector]] = {}
    for row in rows:
        vectors.setdefault(row.memory_id, []).append(row.vector)
    return [(each, vectors[each.pk]) for each in memories if each.pk in vectors]


def embed_later(project_id: uuid.UUID) -> None:
    queue.enqueue(KIND, project_id=project_id, key=str(project_id))

"""Embed memories in the write that stores them, or leave them to a job."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import structlog

from common.db import Statement
from common.ids import uuid7
from inference.embedding import active_model
from inference.embedding.vector import Vector
from inference.errors import InferenceError
from jobs import queue
from memories.models import Memory

log = structlog.get_logger(__name__)

# A larger batch is stored without vectors, and a job embeds it later.
MAX_INLINE = 20


def embed_or_none(texts: Sequence[str]) -> tuple[list[Vector] | None, str]:
    """Embed texts and return their vectors.

    If the texts are not embedded, return None and a note that tells the reason.
    """
    try:
        return active_model.embed(texts), ""
    except InferenceError as error:
        log.warning("embedding_deferred", error=str(error))
        return None, f"not embedded yet, a job will: {error}"


def put(
    embedded: Sequence[tuple[Memory, Vector]], *, before: Sequence[Statement] = ()
) -> None:
    """Store the vectors of at least one memory.

    All memories belong to one project, and one model made all vectors. The statements
    `before` run in the same round trip. If the model is no longer the active one, a job is
    enqueued that embeds the memories anew.
    """
    memory, vector = embedded[0]
    if not active_model.is_active(vector, [*before, insert_statement(embedded)]):
        embed_later(memory.project_id)


def insert_statement(embedded: Sequence[tuple[Memory, Vector]]) -> Statement:
    rows = ", ".join(["(%s, %s, %s, %s, %s)"] * len(embedded))
    params: list[Any] = []
    for memory, vector in embedded:
        row = (uuid7(), memory.pk, memory.project_id, vector.model, vector.text)
        params.extend(row)
    return STORE.format(rows=rows), params


# The SQL is plain. With models, building the statement took longer than running it.
STORE = """
INSERT INTO memories_memoryvector (id, memory_id, project_id, model, embedding)
VALUES {rows}
ON CONFLICT (memory_id, model) DO UPDATE SET embedding = excluded.embedding
"""


def embed_later(project_id: uuid.UUID) -> None:
    queue.enqueue("embed", project_id=project_id, key=str(project_id))

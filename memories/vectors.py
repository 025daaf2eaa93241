"""Vectors of memories: made with the write when the model answers, else by a job."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef

from inference import embedding
from inference.errors import InferenceError
from jobs import errors as job_errors
from jobs import queue, running
from memories.models import Memory, MemoryVector

log = structlog.get_logger(__name__)

BATCH = 32  # rows embedded between two steps of the job
# A larger batch is answered at once and embedded by a job (03, "Writing").
AT_ONCE = 20


def embed_or_none(texts: Sequence[str]) -> tuple[list[list[float]] | None, str]:
    """The vectors of these texts, or None and why there are none yet."""
    if not texts:
        return [], ""
    try:
        return embedding.active().embed(texts), ""
    except InferenceError as error:
        log.warning("embedding_deferred", texts=len(texts), error=str(error))
        return None, f"not embedded yet, a job will: {error}"


def put(memory: Memory, vector: Sequence[float]) -> None:
    MemoryVector.objects.update_or_create(
        memory=memory,
        model=embedding.active().name,
        defaults={"project_id": memory.project_id, "embedding": list(vector)},
    )


def embed_later(project_id: uuid.UUID) -> None:
    queue.enqueue("embed", project_id=project_id, key=str(project_id))


def waiting(project_id: uuid.UUID) -> object:
    """Live rows of a project that the active model has not embedded."""
    have = MemoryVector.objects.filter(
        memory=OuterRef("pk"), model=embedding.active().name
    )
    return Memory.objects.filter(
        ~Exists(have), project_id=project_id, deleted_at=None, is_duplicate=False
    )


@running.handler("embed", attempts=20, lease=timedelta(minutes=5))
def embed_waiting(run: running.Run) -> dict[str, int]:
    """Embed what a failing or slow model left behind, then compare it."""
    from memories import duplicates  # noqa: PLC0415  # it stores vectors through here

    rows = waiting(run.job.project_id).order_by("pk").light()  # type: ignore[attr-defined, arg-type]  # a queryset
    done = run.job.done
    while batch := list(rows[:BATCH]):
        try:
            vectors = embedding.active().embed([memory.text for memory in batch])
        except InferenceError as error:
            kind = job_errors.Later if error.retryable else job_errors.Permanent
            raise kind(str(error)) from error
        for memory, vector in zip(batch, vectors, strict=True):
            with transaction.atomic():
                fresh = Memory.objects.select_for_update(no_key=True).get(pk=memory.pk)
                # Changed while the model worked: its new text is embedded next.
                if fresh.version == memory.version:
                    put(fresh, vector)
                    duplicates.compare(fresh, vector)
        done += len(batch)
        run.step(done)
    return {"embedded": done}

"""Wait until memories are embedded, so that a client knows when a search finds them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection

from inference.embedding import active_model
from jobs.models import Job
from memories.maintenance import embedding_job
from memories.models import Memory

MAX_SECONDS = 30
PAUSE = 0.2  # seconds between two looks


def find_embedding_job(project_id: uuid.UUID) -> Job | None:
    """Return the job that will embed the latest memories of a project."""
    jobs = Job.objects.filter(kind="embed", key=str(project_id), project_id=project_id)
    found: Job | None = jobs.unfinished().order_by("pk").last()
    return found


def find_waiting(
    project_id: uuid.UUID, ids: Collection[uuid.UUID]
) -> frozenset[uuid.UUID]:
    """Return those of these memories that have no vector yet."""
    rows = Memory.objects.filter(
        embedding_job.EMBEDDABLE, project_id=project_id, pk__in=ids
    ).exclude(vectors__model=active_model.find_name())
    return frozenset(rows.values_list("pk", flat=True))


def wait_until_embedded(
    project_id: uuid.UUID, ids: Collection[uuid.UUID], seconds: float
) -> frozenset[uuid.UUID]:
    """Wait until memories have vectors or no job is left; return those without a vector."""
    end = time.monotonic() + seconds
    while waiting := find_waiting(project_id, ids):
        left = end - time.monotonic()
        if left <= 0 or not find_embedding_job(project_id):
            break
        time.sleep(min(PAUSE, left))
    return waiting


def find_searchable(ids: Collection[uuid.UUID]) -> frozenset[uuid.UUID]:
    """Return those of these memories that a search finds by meaning."""
    rows = Memory.objects.current().filter(
        pk__in=ids, vectors__model=active_model.find_name()
    )
    return frozenset(rows.values_list("pk", flat=True))

"""What beat asks of memories; its imports register the jobs that a worker can run."""

from __future__ import annotations

from celery import shared_task

from common.caller import SYSTEM
from jobs.models import Heartbeat
from memories import deduplication, deletion, indexing, lifecycle, vectors
from memories.models import Memory
from projects.models import Project
from search import statistics

__all__ = [
    "archive_expired",
    "deduplication",
    "deletion",
    "refresh_statistics",
    "vectors",
]


@shared_task
def refresh_statistics() -> None:
    """Count lexemes anew for the projects in which enough was written."""
    rows = Memory.objects.current()
    for project_id in Project.objects.live().values_list("pk", flat=True):
        if statistics.is_stale(rows, project_id=project_id, name=indexing.CORPUS):
            statistics.rebuild(rows, project_id=project_id, name=indexing.CORPUS)
    Heartbeat.beat("statistics")


@shared_task
def archive_expired() -> None:
    """Archive what expired; whatever is left comes with the next pass."""
    lifecycle.archive_expired(SYSTEM)
    Heartbeat.beat("expiry")

"""What beat asks of memories; its imports register the jobs that a worker can run."""

from __future__ import annotations

from celery import shared_task

from common.caller import SYSTEM
from jobs.models import Heartbeat
from memories import (
    consolidation,
    deduplication,
    deletion,
    index_care,
    indexing,
    lifecycle,
    planned_compaction,
    purging,
    quotas,
    vectors,
)
from memories.models import Memory
from projects.models import Project
from search import statistics

__all__ = [
    "archive_expired",
    "care_for_indexes",
    "compact",
    "consolidate",
    "consolidation",
    "deletion",
    "forget_findings",
    "purging",
    "refresh_statistics",
    "vectors",
]


@shared_task
def refresh_statistics() -> None:
    """Count lexemes anew for the projects in which enough was written."""
    projects = Project.objects.live().values_list("pk", flat=True)
    rows = Memory.objects.current()
    statistics.refresh(rows, projects=projects, name=indexing.CORPUS)
    Heartbeat.beat("statistics")


@shared_task
def archive_expired() -> None:
    """Archive what expired."""
    lifecycle.archive_expired(SYSTEM)
    Heartbeat.beat("expiry")


@shared_task
def compact() -> None:
    """Start the day's compaction of the projects that want one."""
    planned_compaction.start_due()


@shared_task
def consolidate() -> None:
    """Start the consolidation of the projects in which a quota is reached."""
    quotas.consolidate_reached()


@shared_task
def forget_findings() -> None:
    """Delete the findings of deduplications whose job is gone."""
    deduplication.forget_findings()


@shared_task
def care_for_indexes() -> None:
    """Start the job on the vector indexes, if there is anything for it to do."""
    index_care.start_due()
    Heartbeat.beat("vector-indexes")

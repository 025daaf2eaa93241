"""Celery tasks of memories.

The imports register the jobs that a worker can run.
"""

from __future__ import annotations

from celery import shared_task

from common.caller import SYSTEM
from jobs.models import Heartbeat
from memories.duplicates import scan
from memories.lifecycle import expire
from memories.maintenance import embedding_job
from memories.models import Memory
from memories.read import exposures
from memories.retention import compaction_policy, erase, project_deletion, prune
from memories.store import search_columns
from projects.models import Project
from search import statistics, vector_index_job

__all__ = [
    "archive_expired",
    "care_for_indexes",
    "compact",
    "deduplicate",
    "embedding_job",
    "erase",
    "forget_exposures",
    "forget_findings",
    "project_deletion",
    "prune",
    "refresh_statistics",
]


@shared_task
def refresh_statistics() -> None:
    """Count lexemes anew in each project that stored enough since its last count."""
    projects = Project.objects.live().values_list("pk", flat=True)
    rows = Memory.objects.current()
    statistics.refresh(rows, projects=projects, name=search_columns.CORPUS)
    Heartbeat.beat("statistics")


@shared_task
def archive_expired() -> None:
    """Archive expired memories."""
    expire.archive_expired(SYSTEM)
    Heartbeat.beat("expiry")


@shared_task
def compact() -> None:
    """Start the daily compaction of the projects that have it enabled."""
    compaction_policy.start_due()


@shared_task
def prune_unrecalled() -> None:
    """Start the daily pruning of the projects that have it enabled."""
    prune.start_due()


@shared_task
def deduplicate() -> None:
    """Start the daily scan for duplicates of the projects that changed."""
    scan.start_due()


@shared_task
def forget_findings() -> None:
    """Delete the findings of scans whose job no longer exists."""
    scan.forget_findings()


@shared_task
def forget_exposures() -> None:
    """Delete old exposures that are not credited to a finished task."""
    exposures.delete_old()
    Heartbeat.beat("memory_exposures")


@shared_task
def care_for_indexes() -> None:
    """Start the job that maintains the vector indexes, if an index needs it."""
    vector_index_job.start_due()
    Heartbeat.beat("vector-indexes")

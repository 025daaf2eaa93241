"""Periodic tasks of sessions.

Importing this module registers the job handlers of sessions.
"""

from __future__ import annotations

from celery import shared_task

from conversations import project_removal
from conversations.compaction import compaction_job
from conversations.search_index.search_columns import CORPORA
from conversations.sessions import retention
from jobs.models import Heartbeat
from projects.models import Project
from search import statistics

__all__ = ["compaction_job", "project_removal", "refresh_statistics", "retain"]


@shared_task
def refresh_statistics() -> None:
    """Refresh the lexeme statistics of projects whose sessions changed enough."""
    projects = list(Project.objects.live().values_list("pk", flat=True))
    for name, counted_rows in CORPORA.items():
        statistics.refresh(counted_rows(), projects=projects, name=name)
    Heartbeat.beat("conversation_statistics")


@shared_task
def retain() -> None:
    """Archive idle sessions, and purge those that were archived for long."""
    for project in Project.objects.live():
        retention.archive_idle(project)
        retention.purge_archived(project)
    Heartbeat.beat("conversation_retention")

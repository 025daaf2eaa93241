"""Periodic tasks of the playbook.

Importing this module registers the job handlers of the playbook.
"""

from __future__ import annotations

from celery import shared_task

from jobs.models import Heartbeat
from playbook import delta_vectors, project_removal
from playbook.entries import entry_index, entry_vectors
from playbook.lessons import tidy as weekly
from playbook.models import PlaybookEntry
from playbook.reading import exposures
from projects.models import Project
from search import statistics

__all__ = [
    "delta_vectors",
    "entry_vectors",
    "project_removal",
    "refresh_statistics",
    "tidy",
]


@shared_task
def refresh_statistics() -> None:
    """Refresh the lexeme statistics of projects whose playbook changed enough."""
    projects = Project.objects.live().values_list("pk", flat=True)
    rows = PlaybookEntry.objects.current()
    statistics.refresh(rows, projects=projects, name=entry_index.CORPUS)
    Heartbeat.beat("playbook_statistics")


@shared_task
def tidy() -> None:
    """Enqueue the weekly search for rules to merge or to retire."""
    weekly.enqueue_due()
    Heartbeat.beat("playbook_tidying")


@shared_task
def forget_exposures() -> None:
    """Delete old exposures that are not credited to a finished task."""
    exposures.delete_old()
    Heartbeat.beat("playbook_exposures")

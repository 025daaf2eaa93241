"""What beat asks of playbooks; its imports register the jobs that a worker can run."""

from __future__ import annotations

from celery import shared_task

from jobs.models import Heartbeat
from playbook import delta_vectors, project_removal
from playbook.entries import entry_index, entry_vectors
from playbook.exchange import compare_imports
from playbook.learning import deduplicate
from playbook.models import PlaybookEntry
from playbook.reading import exposures
from playbook.review import review_alarm
from projects.models import Project
from search import statistics

__all__ = [
    "compare_imports",
    "deduplicate",
    "delta_vectors",
    "entry_vectors",
    "project_removal",
    "refresh_statistics",
    "tidy",
    "watch_reviews",
]


@shared_task
def refresh_statistics() -> None:
    """Count lexemes anew for the projects in whose playbook enough was written."""
    projects = Project.objects.live().values_list("pk", flat=True)
    rows = PlaybookEntry.objects.current()
    statistics.refresh(rows, projects=projects, name=entry_index.CORPUS)
    Heartbeat.beat("playbook_statistics")


@shared_task
def tidy() -> None:
    """Look through the playbooks that moved for what says the same or is refuted."""
    deduplicate.enqueue_due()
    Heartbeat.beat("playbook_tidying")


@shared_task
def forget_exposures() -> None:
    """Delete what agents were given long ago and no finished task tells of."""
    exposures.delete_old()
    Heartbeat.beat("playbook_exposures")


@shared_task
def watch_reviews() -> None:
    """Tell of proposals that have waited longer than their project allows."""
    review_alarm.watch()
    Heartbeat.beat("review_alarm")

"""What beat asks of playbooks; its imports register the jobs that a worker can run."""

from __future__ import annotations

from celery import shared_task

from jobs.models import Heartbeat
from playbook import indexing, removal, vectors
from playbook.models import PlaybookEntry
from projects.models import Project
from search import statistics

__all__ = ["refresh_statistics", "removal", "vectors"]


@shared_task
def refresh_statistics() -> None:
    """Count lexemes anew for the projects in whose playbook enough was written."""
    rows = PlaybookEntry.objects.current()
    for project_id in Project.objects.live().values_list("pk", flat=True):
        if statistics.is_stale(rows, project_id=project_id, name=indexing.CORPUS):
            statistics.rebuild(rows, project_id=project_id, name=indexing.CORPUS)
    Heartbeat.beat("playbook_statistics")

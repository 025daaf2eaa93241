"""The daily job that proposes corrections of the repository's own instructions."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from ace.models import TaskInstructions
from common.caller import SYSTEM
from context.card import corrections
from jobs import queue, runner
from jobs.models import Job
from projects.models import Project

KIND = "correct_instructions"
INTERVAL = timedelta(days=1)


def enqueue_due() -> None:
    """Enqueue a job for each project in which a task read instructions, once a day.

    The function is called more often than `INTERVAL`, so that a restart of beat causes
    no long delay.
    """
    recent = Job.objects.filter(kind=KIND, created_at__gte=timezone.now() - INTERVAL)
    projects = Project.objects.live().exclude(pk__in=recent.values("project_id"))
    readers = TaskInstructions.objects.filter(project__in=projects)
    for project_id in readers.order_by().values_list("project", flat=True).distinct():
        queue.enqueue(KIND, project_id=project_id, key=str(project_id))


@runner.handler(KIND, attempts=5, lease=timedelta(minutes=5))
def propose_as_job(run: runner.JobRun) -> dict[str, int]:
    """Propose the corrections of a project; those that exist are not proposed again."""
    assert run.job.project_id
    project = Project.objects.get(pk=run.job.project_id)
    return {"found": len(corrections.propose(project, SYSTEM))}

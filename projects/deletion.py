"""The end of a project whose grace is over: its rows go, then the project.

The apps above register what deletes their rows; the last one registered is asked
first, because apps above refer to those below.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.utils import timezone

from audit.trail import record
from common.caller import SYSTEM
from jobs import queue
from jobs.models import Job
from jobs.runner import JobRun, handler
from projects.models import Project

KIND = "project.delete"
MAX_PER_PASS = 100  # projects looked at in one pass

Remover = Callable[[uuid.UUID, JobRun], None]
REMOVERS: list[Remover] = []


def register(remover: Remover) -> Remover:
    """Have a function delete an app's rows of a project, whenever one is deleted.

    It deletes in batches of its own transactions, calls `run.step` and `run.yield_turn`
    between them, and does no harm when it is run again.
    """
    if remover not in REMOVERS:
        REMOVERS.append(remover)
    return remover


def enqueue_due() -> None:
    """Enqueue the deletion of every project whose grace is over."""
    for project_id in Project.objects.over().values_list("pk", flat=True)[
        :MAX_PER_PASS
    ]:
        queue.enqueue(KIND, project_id=project_id, key=str(project_id))


@handler(KIND)
def delete(run: JobRun) -> dict[str, Any] | None:
    project_id = run.job.project_id
    if project_id is None or not _is_over(project_id):
        return None
    for position, remover in enumerate(reversed(REMOVERS)):
        run.step(position, len(REMOVERS))
        remover(project_id, run)
    with transaction.atomic():
        # Locked against a second worker.
        held = Project.objects.select_for_update().filter(pk=project_id).first()
        if held is None:
            return None
        held.delete()
        left = Job.objects.unfinished().filter(project_id=project_id)
        left.exclude(pk=run.job.pk).update(
            state=Job.State.CANCELLED, finished_at=timezone.now()
        )
        record(
            SYSTEM,
            "project.ended",
            project_id=project_id,
            object_type="project",
            object_id=project_id,
            name=held.name,
        )
    return {"deleted": str(project_id)}


@transaction.atomic
def _is_over(project_id: uuid.UUID) -> bool:
    # Locked: a restore that was in time ends first, and none is taken from then on.
    rows = Project.objects.over().select_for_update(no_key=True)
    return bool(rows.filter(pk=project_id))

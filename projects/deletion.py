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

from audit.recording import record
from common.caller import SYSTEM
from jobs import queue
from jobs.running import Run, handler
from projects.models import Project

KIND = "project.delete"
AT_ONCE = 100  # projects looked at in one pass

Remover = Callable[[uuid.UUID, Run], None]
REMOVERS: list[Remover] = []


def register(remover: Remover) -> Remover:
    """Have a function delete an app's rows of a project, whenever one is deleted.

    It deletes in batches of its own transactions, calls `run.step` between them, and
    does no harm when it is run again.
    """
    if remover not in REMOVERS:
        REMOVERS.append(remover)
    return remover


def enqueue_due() -> None:
    """Enqueue the deletion of every project whose grace is over."""
    due = Project.objects.filter(delete_after__lte=timezone.now())
    for project_id in due.values_list("pk", flat=True)[:AT_ONCE]:
        queue.enqueue(KIND, project_id=project_id, key=str(project_id))


@handler(KIND)
def delete(run: Run) -> dict[str, Any] | None:
    project_id = run.job.project_id
    project = Project.objects.filter(pk=project_id).first() if project_id else None
    if project_id is None or project is None or not is_over(project):
        return None
    for position, remover in enumerate(reversed(REMOVERS)):
        run.step(position, len(REMOVERS))
        remover(project_id, run)
    with transaction.atomic():
        # Locked against a restore between the look and the delete.
        held = Project.objects.select_for_update().filter(pk=project_id).first()
        if held is None or not is_over(held):
            return None
        held.delete()
        record(
            SYSTEM,
            "project.ended",
            project_id=project_id,
            object_type="project",
            object_id=project_id,
            name=held.name,
        )
    return {"deleted": str(project_id)}


def is_over(project: Project) -> bool:
    return project.delete_after is not None and project.delete_after <= timezone.now()

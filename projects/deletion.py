"""Delete the rows of a project after its grace period, and then the project.

Higher apps register functions that delete their rows. The last registered function runs
first, because rows of higher apps refer to rows of lower ones.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from audit.trail import record
from common import append_only
from common.caller import SYSTEM
from jobs import queue
from jobs.models import Job
from jobs.runner import JobRun, handler
from projects.models import Project

KIND = "project.delete"
MAX_PER_PASS = 100  # projects
BATCH = 500  # rows deleted in one transaction

Remover = Callable[[uuid.UUID, JobRun], None]
REMOVERS: list[Remover] = []


def register(remover: Remover) -> Remover:
    """Register a function that deletes an app's rows of a project.

    The function deletes the rows in batches, each in its own transaction. Between two
    batches, it calls `run.step` and `run.yield_turn`. It must do no harm when it runs
    again.
    """
    if remover not in REMOVERS:
        REMOVERS.append(remover)
    return remover


def delete_rows(rows: QuerySet[Any], run: JobRun) -> None:
    """Delete rows in batches, also those of append-only tables."""
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic(), append_only.allow_changes():
            rows.filter(pk__in=ids).delete()
        run.step(run.job.done)
        run.yield_turn()


def enqueue_due() -> None:
    """Enqueue the deletion of every project whose grace period has ended."""
    for project_id in Project.objects.past_grace().values_list("pk", flat=True)[
        :MAX_PER_PASS
    ]:
        queue.enqueue(KIND, project_id=project_id, key=str(project_id))


@handler(KIND)
def delete(run: JobRun) -> dict[str, Any] | None:
    project_id = run.job.project_id
    if project_id is None or not _is_past_grace(project_id):
        return None
    for position, remover in enumerate(reversed(REMOVERS)):
        run.step(position, len(REMOVERS))
        remover(project_id, run)
    with transaction.atomic():
        # Lock out a second worker.
        project = Project.objects.select_for_update().filter(pk=project_id).first()
        if project is None:
            return None
        project.delete()
        rest = Job.objects.unfinished().filter(project_id=project_id)
        rest.exclude(pk=run.job.pk).update(
            state=Job.State.CANCELLED, finished_at=timezone.now()
        )
        record(
            SYSTEM,
            "project.ended",
            project_id=project_id,
            object_type="project",
            object_id=project_id,
            name=project.name,
        )
    return {"deleted": str(project_id)}


@transaction.atomic
def _is_past_grace(project_id: uuid.UUID) -> bool:
    # The lock orders this deletion and a restore. A restore in time commits first, and a
    # later restore is refused.
    rows = Project.objects.past_grace().select_for_update(no_key=True)
    return bool(rows.filter(pk=project_id))

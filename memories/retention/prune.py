"""Archive the facts and episodes that no question has found for long (`agents.prune_after_days`).

The first pass with a number of days only counts, so that a person can see in its job what
the next one archives. An archived memory can be restored.
"""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.db.models import Exists, F, OuterRef
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from audit import trail
from common.caller import SYSTEM, Caller, Role
from common.db import write
from jobs import queue, runner
from jobs.models import Job
from memories.models import Memory, MemoryChange
from memories.queries import MemoryQuerySet
from memories.read.recalls import KINDS
from memories.retention.compaction_policy import ALMOST_A_DAY
from memories.store import originals
from projects.models import Project

KIND = "prune"
PRUNE_BATCH = 100  # ids that are read at a time; each memory has its own transaction


def prunable(project: Project, days: int) -> MemoryQuerySet:
    """Return the facts and episodes that were neither stored nor found for so many days.

    What a person has verified, or ever restored, stays.
    """
    before = timezone.now() - timedelta(days=days)
    restored = MemoryChange.objects.filter(
        memory_id=OuterRef("pk"), action=MemoryChange.Action.RESTORE
    )
    last_use = Greatest(F("created_at"), Coalesce("recalled_at", "created_at"))
    rows: MemoryQuerySet = (
        Memory.objects.current()
        .filter(project=project, kind__in=KINDS, verified_at=None)
        .filter(~Exists(restored))
        .alias(last_use=last_use)
        .filter(last_use__lt=before)
    )
    return rows


def plan_pruning(
    project: Project, caller: Caller, days: int | None = None
) -> MemoryQuerySet:
    """Return what a pass would archive now, of what the caller may see; the oldest first.

    Without `days`, the project's setting decides; if it is off, there is nothing.
    """
    caller.require(Role.VIEWER, project.pk)
    days = days or project.options.agents.prune_after_days
    if days is None:
        return Memory.objects.none()
    rows = prunable(project, days).visible_to(caller, project)
    return rows.order_by("pk")


def start_due() -> None:
    """Start the daily pass of each project that has the setting."""
    for project in Project.objects.live().filter(settings__has_key="agents"):
        if project.options.agents.prune_after_days is not None:
            start_pass(project)


@write
def start_pass(project: Project) -> Job | None:
    """Start a pass, at most one a day; the first one with these days only counts."""
    days = project.options.agents.prune_after_days
    known = Job.objects.filter(kind=KIND, project_id=project.pk)
    if known.filter(created_at__gt=timezone.now() - ALMOST_A_DAY).exists():
        return None
    counted = known.filter(args__days=days, state=Job.State.DONE).exists()
    args = {"days": days, "dry_run": not counted}
    return queue.enqueue(KIND, project_id=project.pk, args=args, key=str(project.pk))


@runner.handler(KIND)
def prune(run: runner.JobRun) -> dict[str, Any] | None:
    """Archive memory by memory, or only count; a repeated attempt goes on with the rest."""
    assert run.job.project_id
    project = Project.objects.live().filter(pk=run.job.project_id).first()
    if project is None:
        return None
    days, is_dry = run.job.args["days"], run.job.args["dry_run"]
    if is_dry:
        return {"dry_run": True, "memories": prunable(project, days).count()}
    if project.options.agents.prune_after_days != days:
        return {"dry_run": False, "memories": 0}  # the setting was changed meanwhile
    ids = prunable(project, days).order_by("pk").values_list("pk", flat=True)
    done, last = run.job.done, uuid.UUID(int=0)
    while chosen := list(ids.filter(pk__gt=last)[:PRUNE_BATCH]):
        last = chosen[-1]
        done += sum(_archive(project, pk, days) for pk in chosen)
        run.step(done)
        run.yield_turn()
    trail.record(
        SYSTEM,
        "prune.finish",
        project_id=project.pk,
        object_type="job",
        object_id=run.job.pk,
        memories=done,
        days=days,
    )
    return {"dry_run": False, "memories": done}


@write
def _archive(project: Project, memory_id: uuid.UUID, days: int) -> bool:
    rows = prunable(project, days).filter(pk=memory_id)
    memory = rows.select_for_update(no_key=True, of=("self",)).first()
    if memory is None:
        return False
    originals.archive(memory, SYSTEM, reason=f"not recalled for {days} days")
    return True

"""Consolidation: what a project does when a quota of its memories is reached.

Duplicates first, then old episodes folded into notes, then the memories of the lowest
confidence archived; each step can be taken back, and it stops when the quotas have room.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.db import transaction
from django.db.models import (
    BooleanField,
    Exists,
    ExpressionWrapper,
    OuterRef,
    Q,
    Value,
)
from django.db.models.functions import Coalesce

from audit import trail
from common.caller import SYSTEM
from common.db import write
from jobs import runner
from jobs.models import Job
from memories import deduplication, lifecycle, places, planned_compaction, quotas
from memories.compaction import Wish
from memories.models import DuplicateFinding, Memory, MemoryChange
from memories.queries import CURRENT_COLUMNS
from memories.quotas import KIND, Quota
from projects.models import Project
from projects.options import CompactionSettings

# A memory without a confidence is neither trusted nor doubted.
UNKNOWN = 0.5
ARCHIVED_AT_ONCE = 100  # candidates looked up together; each goes by itself


@runner.handler(KIND, lease=planned_compaction.LEASE)
def consolidate(run: runner.JobRun) -> dict[str, Any] | None:
    """Make room, step by step, until no quota is reached or nothing is left to do."""
    assert run.job.project_id
    project = Project.objects.live().filter(pk=run.job.project_id).first()
    if project is None:
        return None
    lifecycle.archive_expired(SYSTEM, project)
    _mark_duplicates(run, project)
    for quota in quotas.reached(project):
        _fold_episodes(run, project, quota)
        _archive_least(run, project, quota)
    return _finish(run, project)


def _finish(run: runner.JobRun, project: Project) -> dict[str, Any]:
    found = DuplicateFinding.objects.filter(job_id=run.job.pk, why_not_merged="")
    cursor = run.job.cursor
    result = {
        "duplicates": found.count(),
        "folded": cursor.get("memories", 0),
        "archived": cursor.get("archived", 0),
        "is_under": not quotas.reached(project),
    }
    trail.record(
        SYSTEM,
        "consolidation.finish",
        project_id=project.pk,
        object_type="job",
        object_id=run.job.pk,
        **result,
    )
    return result


def _mark_duplicates(run: runner.JobRun, project: Project) -> None:
    """Compare what earlier consolidations have not compared, a batch at a time."""
    rows = Memory.objects.current().filter(project=project).order_by("pk").light()
    while quotas.reached(project):
        batch = list(rows.filter(pk__gt=_compared_to(run.job))[: deduplication.BATCH])
        if not batch:
            return
        with transaction.atomic():
            deduplication.compare(batch, run.job)
            cursor = {**run.job.cursor, "compared_to": str(batch[-1].pk)}
            run.step(run.job.done, cursor=cursor)
        run.give_way()


def _compared_to(job: Job) -> uuid.UUID:
    """The last memory that this consolidation, or the one before it, has compared."""
    before = Job.objects.filter(
        kind=KIND, project_id=job.project_id, state=Job.State.DONE, args=job.args
    ).first()
    cursors = [job.cursor, before.cursor if before else {}]
    known = [c["compared_to"] for c in cursors if "compared_to" in c]
    return uuid.UUID(known[0]) if known else uuid.UUID(int=0)


def _fold_episodes(run: runner.JobRun, project: Project, quota: Quota) -> None:
    """Compact old episodes of each scope into notes, where that makes room."""
    if quota.name == "per_kind" and quota.of != Memory.Kind.EPISODE:
        return
    policy = _of_episodes(project.options.compaction)
    counted = quotas.live(project, quota).values("pk")
    rows = planned_compaction.candidates(project, policy).filter(pk__in=counted)
    wish = Wish(delete_sources=True, kind=Memory.Kind.NOTE, reason=_reason(run, quota))
    for group in planned_compaction.groups(rows, policy):
        if not quotas.counted(project, quota).is_reached:
            return
        planned_compaction.put_together(run, project, group, wish)


def _of_episodes(policy: CompactionSettings) -> CompactionSettings:
    every = {"scopes": list(Memory.Scope.values), "at_least": 2}
    return policy.model_copy(update={"kinds": [Memory.Kind.EPISODE], **every})


def _archive_least(run: runner.JobRun, project: Project, quota: Quota) -> None:
    """Archive those of the lowest confidence, the oldest first; confirmed ones last."""
    while (over := quotas.counted(project, quota)).is_reached:
        wanted = min(over.used - over.limit + 1, ARCHIVED_AT_ONCE)
        ids = list(_least(project, quota).values_list("pk", flat=True)[:wanted])
        for memory_id in ids:
            archived = run.job.cursor.get("archived", 0) + 1
            cursor = {**run.job.cursor, "archived": archived}
            _archive(run, memory_id, reason=_reason(run, quota), cursor=cursor)
        if not ids:
            return


def _least(project: Project, quota: Quota) -> Any:
    """What somebody brought back once is not archived again."""
    restored = MemoryChange.objects.filter(
        memory_id=OuterRef("pk"), action=MemoryChange.Action.RESTORE
    )
    confirmed = ExpressionWrapper(Q(verified_at__isnull=False), BooleanField())
    trust = Coalesce("confidence", Value(UNKNOWN))
    rows = quotas.live(project, quota).filter(~Exists(restored))
    return rows.order_by(confirmed, trust, "pk")


@write
def _archive(
    run: runner.JobRun, memory_id: uuid.UUID, *, reason: str, cursor: dict[str, Any]
) -> None:
    rows = Memory.objects.filter(pk=memory_id, **CURRENT_COLUMNS)
    memory = rows.select_for_update(no_key=True).first()
    if memory:
        places.archive(memory, SYSTEM, reason=reason)
        run.step(run.job.done, cursor=cursor)


def _reason(run: runner.JobRun, quota: Quota) -> str:
    return f"the quota {quota.name} was reached; job {run.job.pk}"

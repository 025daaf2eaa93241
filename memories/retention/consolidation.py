"""Consolidate a project whose memories have reached a quota.

A consolidation marks duplicates, then compacts old episodes into notes, then archives the
memories with the lowest confidence. It stops when the quotas have room. Each step can be
undone.
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
from memories.duplicates import scan
from memories.lifecycle import expire
from memories.models import DuplicateFinding, Memory, MemoryChange
from memories.queries import CURRENT_COLUMNS
from memories.retention import compaction_policy
from memories.retention.compact import CompactionOptions
from memories.store import originals, quotas
from memories.store.quotas import KIND, Quota
from projects.models import Project
from projects.options import CompactionSettings

# This value is used for a memory that has no confidence.
UNKNOWN_CONFIDENCE = 0.5
# ids that are read at a time; each memory is changed in its own transaction
ARCHIVE_BATCH = 100


@runner.handler(KIND, lease=compaction_policy.LEASE)
def make_room(run: runner.JobRun) -> dict[str, Any] | None:
    """Make room step by step, until no quota is reached or no step is left."""
    assert run.job.project_id
    project = Project.objects.live().filter(pk=run.job.project_id).first()
    if project is None:
        return None
    expire.archive_expired(SYSTEM, project)
    _mark_duplicates(run, project)
    for quota in quotas.at_limit(project):
        _fold_episodes(run, project, quota)
        _archive_least_trusted(run, project, quota)
    return _finish(run, project)


def _finish(run: runner.JobRun, project: Project) -> dict[str, Any]:
    duplicates = DuplicateFinding.objects.filter(job_id=run.job.pk, why_not_merged="")
    cursor = run.job.cursor
    result = {
        "duplicates": duplicates.count(),
        "folded": cursor.get("memories", 0),
        "archived": cursor.get("archived", 0),
        "is_under": not quotas.at_limit(project),
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
    """Compare memories that no earlier consolidation compared, one batch at a time."""
    rows = Memory.objects.current().filter(project=project).order_by("pk").light()
    while quotas.at_limit(project):
        batch = list(rows.filter(pk__gt=_last_compared_id(run.job))[: scan.SCAN_BATCH])
        if not batch:
            return
        with transaction.atomic():
            scan.compare_batch(batch, run.job)
            cursor = {**run.job.cursor, "compared_to": str(batch[-1].pk)}
            run.step(run.job.done, cursor=cursor)
        run.yield_turn()


def _last_compared_id(job: Job) -> uuid.UUID:
    """Return the id of the last compared memory.

    This consolidation or the previous one compared the memory.
    """
    before = Job.objects.filter(
        kind=KIND, project_id=job.project_id, state=Job.State.DONE, args=job.args
    ).first()
    cursors = [job.cursor, before.cursor if before else {}]
    known = [c["compared_to"] for c in cursors if "compared_to" in c]
    return uuid.UUID(known[0]) if known else uuid.UUID(int=0)


def _fold_episodes(run: runner.JobRun, project: Project, quota: Quota) -> None:
    """Compact old episodes of each scope into notes, if the quota counts episodes."""
    if quota.name == "per_kind" and quota.of != Memory.Kind.EPISODE:
        return
    policy = _episode_policy(project.options.compaction)
    counted_ids = quotas.live_rows(project, quota).values("pk")
    rows = compaction_policy.candidates(project, policy).filter(pk__in=counted_ids)
    options = CompactionOptions(
        delete_sources=True, kind=Memory.Kind.NOTE, reason=_reason(run, quota)
    )
    for group in compaction_policy.group_sources(rows, policy):
        if not quotas.count_used(project, quota).is_reached:
            return
        compaction_policy.compact_group(run, project, group, options)


def _episode_policy(policy: CompactionSettings) -> CompactionSettings:
    every = {"scopes": list(Memory.ScopeKind.values), "at_least": 2}
    return policy.model_copy(update={"kinds": [Memory.Kind.EPISODE], **every})


def _archive_least_trusted(run: runner.JobRun, project: Project, quota: Quota) -> None:
    """Archive memories until the quota has room.

    Unconfirmed memories come before confirmed ones, then the confidence and the age decide.
    """
    while (over := quotas.count_used(project, quota)).is_reached:
        count = min(over.used - over.limit + 1, ARCHIVE_BATCH)
        ids = list(
            _archive_candidates(project, quota).values_list("pk", flat=True)[:count]
        )
        for memory_id in ids:
            archived = run.job.cursor.get("archived", 0) + 1
            cursor = {**run.job.cursor, "archived": archived}
            _archive(run, memory_id, reason=_reason(run, quota), cursor=cursor)
        if not ids:
            return


def _archive_candidates(project: Project, quota: Quota) -> Any:
    """Return the candidates for archiving, in order.

    A memory that was once restored is no candidate.
    """
    restored = MemoryChange.objects.filter(
        memory_id=OuterRef("pk"), action=MemoryChange.Action.RESTORE
    )
    confirmed = ExpressionWrapper(Q(verified_at__isnull=False), BooleanField())
    trust = Coalesce("confidence", Value(UNKNOWN_CONFIDENCE))
    rows = quotas.live_rows(project, quota).filter(~Exists(restored))
    return rows.order_by(confirmed, trust, "pk")


@write
def _archive(
    run: runner.JobRun, memory_id: uuid.UUID, *, reason: str, cursor: dict[str, Any]
) -> None:
    rows = Memory.objects.filter(pk=memory_id, **CURRENT_COLUMNS)
    memory = rows.select_for_update(no_key=True).first()
    if memory:
        originals.archive(memory, SYSTEM, reason=reason)
        run.step(run.job.done, cursor=cursor)


def _reason(run: runner.JobRun, quota: Quota) -> str:
    return f"the quota {quota.name} was reached; job {run.job.pk}"

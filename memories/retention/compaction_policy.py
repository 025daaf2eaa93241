"""Compact the memories of a project by its policy.

A compaction is planned, started, and run as a job.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db.models import Count, Func, Q, UUIDField
from django.utils import timezone

from audit import trail
from common import errors
from common.caller import SYSTEM, Caller, Role
from common.db import write
from jobs import queue, runner
from jobs.models import Job
from memories.lifecycle import derive
from memories.lifecycle.derive import Derivation
from memories.models import Memory
from memories.queries import MemoryQuerySet
from memories.retention import compact
from memories.retention.compact import MAX_GENERATION, CompactionOptions
from memories.scopes import Scope
from projects.models import Project
from projects.options import CompactionSettings

log = structlog.get_logger(__name__)

KIND = "compact"
# A group may wait for a language model. During this wait, the job takes no step.
SILENCE = timedelta(minutes=10)
# Beat checks every hour. With a pause of a full day, each compaction would start an hour
# later than the one before.
ALMOST_A_DAY = timedelta(hours=23, minutes=30)
GROUP_FIELDS = (
    "scope_kind",
    "scope_type",
    "scope_key",
    "scope_user",
    "kind",
    "sensitivity",
    "expires_at",
)


@dataclass(frozen=True)
class Group:
    """Memories that are compacted into one memory.

    The oldest memory comes first.
    """

    scope: Scope
    kind: str
    sensitivity: str
    expires_at: datetime | None
    source_ids: tuple[uuid.UUID, ...]


def plan(project: Project, caller: Caller) -> Iterator[Group]:
    """Return the groups that the policy would compact now.

    The groups have only memories that the caller may see.
    """
    caller.require(Role.VIEWER, project.pk)
    policy = project.options.compaction
    return group_sources(candidates(project, policy).visible_to(caller), policy)


def candidates(project: Project, policy: CompactionSettings) -> MemoryQuerySet:
    """Return the memories that a policy may compact.

    A source is compacted only once: sources that were kept or restored are not compacted
    again. Facts with a key and results of the last generation are left out.
    """
    compacted = Memory.objects.filter(project=project).exclude(compacted_from=[])
    each = Func("compacted_from", function="unnest", output_field=UUIDField())
    rows: MemoryQuerySet = Memory.objects.current().filter(
        project=project,
        kind__in=policy.kinds,
        scope_kind__in=policy.scopes,
        created_at__lt=timezone.now() - timedelta(days=policy.older_than_days),
    )
    rows = rows.exclude(Q(kind=Memory.Kind.FACT) & ~Q(key=""))
    rows = rows.filter(
        ~Q(compaction__has_key="generation")
        | Q(compaction__generation__lt=MAX_GENERATION)
    )
    return rows.exclude(pk__in=compacted.order_by().values(source_id=each))


def group_sources(rows: MemoryQuerySet, policy: CompactionSettings) -> Iterator[Group]:
    """Yield groups of `at_least` to `at_most` memories, the oldest memories first."""
    shared = rows.order_by(*GROUP_FIELDS).values(*GROUP_FIELDS).annotate(n=Count("pk"))
    for common in shared.filter(n__gte=policy.at_least):
        common.pop("n")
        same = rows.filter(**common).order_by("pk")
        ids = list(same.values_list("pk", flat=True))
        for start in range(0, len(ids), policy.at_most):
            chosen = ids[start : start + policy.at_most]
            if len(chosen) >= policy.at_least:
                yield _group(common, chosen)


def _group(common: dict[str, Any], source_ids: list[uuid.UUID]) -> Group:
    return Group(
        Scope(*(common[f"scope_{name}"] for name in ("kind", "key", "type", "user"))),
        common["kind"],
        common["sensitivity"],
        common["expires_at"],
        tuple(source_ids),
    )


@write
def start(project: Project, caller: Caller) -> Job:
    """Start a job that compacts by the policy.

    If such a job already waits, return that job.
    """
    caller.require_unbound(Role.CURATOR, project.pk, action="compact a project")
    policy = project.options.compaction.model_dump()
    job = queue.enqueue(
        KIND, project_id=project.pk, args={"policy": policy}, key=str(project.pk)
    )
    if job is None:
        return Job.objects.filter(kind=KIND, project_id=project.pk).latest("pk")
    trail.record(
        caller,
        "compaction.start",
        project_id=project.pk,
        object_type="job",
        object_id=job.pk,
        policy=policy,
    )
    return job


def start_due() -> None:
    """Start the daily compaction of each project that has the compaction enabled."""
    since = timezone.now() - ALMOST_A_DAY
    for project in Project.objects.live().filter(settings__compaction__enabled=True):
        done = Job.objects.filter(kind=KIND, project_id=project.pk)
        if not done.filter(created_at__gt=since).exists():
            start(project, SYSTEM)


@runner.handler(KIND, silence=SILENCE)
def run_policy(run: runner.JobRun) -> dict[str, Any] | None:
    """Compact group by group.

    A repeated attempt continues with the groups that are left.
    """
    assert run.job.project_id
    project = Project.objects.live().filter(pk=run.job.project_id).first()
    if project is None:
        return None
    policy = CompactionSettings.model_validate(run.job.args["policy"])
    options = CompactionOptions(
        delete_sources=policy.delete_sources,
        keep_literals=True,
        reason=_reason(run.job, policy),
    )
    for group in group_sources(candidates(project, policy), policy):
        compact_group(run, project, group, options)
    result = {"groups": 0, "memories": 0, "refused": 0, **run.job.cursor}
    trail.record(
        SYSTEM,
        "compaction.finish",
        project_id=project.pk,
        object_type="job",
        object_id=run.job.pk,
        **result,
    )
    return result


def _reason(job: Job, policy: CompactionSettings) -> str:
    return (
        f"by policy: {' and '.join(policy.kinds)} older than {policy.older_than_days} "
        f"days, {policy.at_least} to {policy.at_most} together; job {job.pk}"
    )


def compact_group(
    run: runner.JobRun, project: Project, group: Group, options: CompactionOptions
) -> None:
    """Compact a group or leave it as it is, and count it in the run's cursor.

    A refusal concerns only this group: one of its sources was changed or deleted after
    planning, or its summary would lose names and numbers. The next job tries it again.
    """
    tally = {"groups": 0, "memories": 0, "refused": 0, **run.job.cursor}
    size = len(group.source_ids)
    done = {"groups": tally["groups"] + 1, "memories": tally["memories"] + size}
    summarizer = compact.project_summarizer(project)
    try:
        prepared = compact.prepare(
            project, group.source_ids, group.scope, summarizer, SYSTEM, options
        )
        _commit(run, prepared, tally | done)
        run.yield_turn()
    except errors.Refusal as refusal:
        log.warning("group_refused", memories=size, error=refusal.detail)
        run.step(run.job.done, cursor=tally | {"refused": tally["refused"] + 1})


@write
def _commit(run: runner.JobRun, prepared: Derivation, tally: dict[str, Any]) -> None:
    _refuse_compacted(prepared)
    derive.commit(prepared, SYSTEM)
    run.step(tally["memories"], cursor=tally)


def _refuse_compacted(prepared: Derivation) -> None:
    """Refuse if another job has compacted a source in the meantime.

    Sources that are kept do not change, so their own rows do not show the compaction.
    """
    sources = Memory.objects.filter(pk__in=[each.pk for each in prepared.sources])
    ids = list(
        sources.order_by("pk")
        .select_for_update(no_key=True)
        .values_list("pk", flat=True)
    )
    # This condition is the condition of the index on `compacted_from`.
    results = Memory.objects.exclude(compacted_from=[])
    if results.filter(compacted_from__overlap=ids).exists():
        raise errors.StateConflict(
            "Another compaction has used one of these memories meanwhile."
        )

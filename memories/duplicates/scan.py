"""Scan a whole project for duplicates, in a job that reports its progress."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from audit import trail
from common.caller import SYSTEM, Caller, Role
from common.db import delete_in_batches, write
from jobs import queue, runner
from jobs.models import Job
from memories import near_duplicates
from memories.duplicates import mark
from memories.models import DuplicateFinding, Memory
from memories.near_duplicates import Verdict
from memories.store.vectors import read_vectors
from projects.models import Project

ALMOST_A_DAY = timedelta(hours=23, minutes=30)  # between two scheduled scans
KIND = "deduplicate"
# memories between two steps; after a crash, the job repeats at most this number
SCAN_BATCH = 100


@write
def start(
    project: Project, caller: Caller, *, threshold: float | None, apply: bool
) -> Job:
    """Start a scan of the project for duplicates (REQ-MEM-DEDUP-002).

    Without `apply`, the scan only reports the duplicates. If the same scan already waits,
    return that job.
    """
    caller.require_unbound(Role.CURATOR, project.pk, action="deduplicate a project")
    args = {
        "threshold": threshold or project.options.dedup.threshold,
        "apply": apply,
        "actor": caller.name,
    }
    key = f"{project.pk} {args['threshold']} {apply}"
    job = queue.enqueue_or_find(KIND, project_id=project.pk, args=args, key=key)
    trail.record(
        caller,
        "deduplication.start",
        project_id=project.pk,
        object_type="job",
        object_id=job.pk,
        threshold=args["threshold"],
        apply=apply,
    )
    return job


def start_due() -> None:
    """Start the daily scan of each project whose memories changed since its last scan."""
    for project in Project.objects.live():
        if project.options.dedup.enabled and _is_due(project):
            start(project, SYSTEM, threshold=None, apply=True)


def _is_due(project: Project) -> bool:
    last = last_scan(project)
    changed = Memory.objects.current().filter(project=project)
    if last is None:
        return changed.exists()
    if last.created_at > timezone.now() - ALMOST_A_DAY:
        return False
    is_done = last.state == Job.State.DONE
    return not is_done or changed.filter(updated_at__gt=last.created_at).exists()


def last_scan(project: Project) -> Job | None:
    """Return the newest scan that marks duplicates, whoever started it."""
    jobs = Job.objects.filter(kind=KIND, project_id=project.pk, args__apply=True)
    return jobs.order_by("-pk").first()


@runner.handler(KIND, silence=timedelta(minutes=5))
def scan_project(run: runner.JobRun) -> dict[str, Any] | None:
    """Compare every memory with the earlier ones.

    The earliest of several duplicates is the original.
    """
    job = run.job
    assert job.project_id
    project = Project.objects.live().filter(pk=job.project_id).first()
    if project is None:
        return None
    rows = Memory.objects.current().filter(project=project)
    total = job.total or rows.count()
    done = job.done
    last = uuid.UUID(job.cursor.get("last") or uuid.UUID(int=0).hex)
    while batch := list(rows.filter(pk__gt=last).order_by("pk").light()[:SCAN_BATCH]):
        last = batch[-1].pk
        done += len(batch)
        with transaction.atomic():
            compare_batch(batch, job)
            run.step(done, total, cursor={"last": str(last)})
        run.yield_turn()
    findings = DuplicateFinding.objects.filter(job_id=job.pk)
    possible = findings.exclude(why_not_merged="").count()
    result: dict[str, Any] = {
        "scanned": done,
        "duplicates": findings.count() - possible,
        "possible_duplicates": possible,
        "applied": bool(job.args["apply"]),
    }
    trail.record(
        SYSTEM,
        "deduplication.finish",
        project_id=project.pk,
        object_type="job",
        object_id=job.pk,
        **result,
    )
    return result


def compare_batch(batch: Sequence[Memory], job: Job) -> None:
    """Compare memories with earlier ones, and record the pairs found for the job."""
    threshold = job.args["threshold"]
    pairs = near_duplicates.find_near_each(
        batch[0].project_id, read_vectors(batch), threshold=threshold
    )
    for memory, vectors, neighbours in pairs:
        verdict = near_duplicates.compare(
            memory,
            vectors,
            threshold=threshold,
            rows=_earlier_rows(memory, job),
            neighbours=neighbours,
        )
        if verdict != near_duplicates.NO_VERDICT:
            _record_findings(memory, verdict, job)


def forget_findings() -> None:
    """Delete the findings of jobs that no longer exist."""
    jobs = Job.objects.filter(pk=OuterRef("job_id"))
    delete_in_batches(DuplicateFinding.objects.filter(~Exists(jobs)))


def _record_findings(memory: Memory, verdict: Verdict, job: Job) -> None:
    similar = [verdict.original] if verdict.original else verdict.possible
    unchanged = near_duplicates.lock_all_unchanged(
        [memory, *(each.memory for each in similar)]
    )
    if memory.pk not in unchanged:
        return
    DuplicateFinding.objects.bulk_create(
        [
            DuplicateFinding(
                job_id=job.pk,
                project_id=memory.project_id,
                memory=memory,
                original=each.memory,
                similarity=each.similarity,
                why_not_merged=each.why_not_merged or "",
            )
            for each in similar
            if each.memory.pk in unchanged
        ],
        ignore_conflicts=True,
    )
    if job.args["apply"]:
        _apply(memory, verdict, job)


def _apply(memory: Memory, verdict: Verdict, job: Job) -> None:
    """Apply a verdict, unless the memory changed after the scan had read it."""
    if fresh := near_duplicates.lock_unchanged(memory):
        source = f", found by job {job.pk}"
        mark.apply_verdict(fresh, verdict, SYSTEM, source=source)


def _earlier_rows(memory: Memory, job: Job) -> QuerySet[Memory]:
    """Return the earlier memories that this scan did not find to be duplicates.

    A dry run therefore finds the same pairs as a scan that applies its verdicts.
    """
    duplicates = DuplicateFinding.objects.filter(
        job_id=job.pk, why_not_merged="", memory=OuterRef("pk")
    )
    rows: QuerySet[Memory] = Memory.objects.filter(
        ~Exists(duplicates), pk__lt=memory.pk
    )
    return rows

"""Duplicates of a whole project, found by a job that can be watched and stopped."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from audit import recording
from common.caller import SYSTEM, Caller, Role
from common.writing import write
from inference import embedding
from jobs import queue, running
from jobs.models import Job
from memories import duplicates
from memories.models import DuplicateFinding, Memory, MemoryVector
from projects.models import Project

KIND = "deduplicate"
BATCH = 100  # memories compared between two steps; what a killed attempt repeats


@write
def start(
    project: Project, caller: Caller, *, threshold: float | None, apply: bool
) -> Job:
    """Start a scan of the project; without `apply` it only reports (REQ-MEM-DEDUP-002)."""
    caller.require(Role.CURATOR, project.pk)
    args = {
        "threshold": threshold or project.options.dedup.threshold,
        "apply": apply,
        "actor": caller.name,
    }
    job = queue.enqueue(KIND, project_id=project.pk, args=args)
    assert job
    recording.record(
        caller,
        "deduplication.start",
        project_id=project.pk,
        object_type="job",
        object_id=job.pk,
        threshold=args["threshold"],
        apply=apply,
    )
    return job


@running.handler(KIND, lease=timedelta(minutes=5))
def scan(run: running.Run) -> dict[str, Any]:
    """Compare every memory with the earlier ones; the earliest is the original."""
    job = run.job
    assert job.project_id
    project = Project.objects.get(pk=job.project_id)
    rows = Memory.objects.current().filter(project=project)
    total = job.total or rows.count()
    done = job.done
    last = uuid.UUID(job.cursor.get("last") or uuid.UUID(int=0).hex)
    while batch := list(rows.filter(pk__gt=last).order_by("pk").light()[:BATCH]):
        last = batch[-1].pk
        done += len(batch)
        with transaction.atomic():
            for memory in batch:
                compare(memory, job)
            run.step(done, total, cursor={"last": str(last)})
    found = DuplicateFinding.objects.filter(job_id=job.pk)
    kept = found.exclude(why_not_merged="").count()
    result: dict[str, Any] = {
        "scanned": done,
        "duplicates": found.count() - kept,
        "possible_duplicates": kept,
        "applied": bool(job.args["apply"]),
    }
    recording.record(
        SYSTEM,
        "deduplication.finish",
        project_id=project.pk,
        object_type="job",
        object_id=job.pk,
        **result,
    )
    return result


def compare(memory: Memory, job: Job) -> None:
    """Look for the original of a memory, with the threshold and wish of the job."""
    stored = MemoryVector.objects.filter(
        memory=memory, model=embedding.active().name
    ).first()
    if stored is None:
        return
    verdict = duplicates.weigh(
        memory,
        stored.vector,
        threshold=job.args["threshold"],
        among=_earlier(memory, job),
    )
    alike = [verdict.original] if verdict.original else list(verdict.doubts)
    DuplicateFinding.objects.bulk_create(
        [
            DuplicateFinding(
                job_id=job.pk,
                project_id=memory.project_id,
                memory=memory,
                original=near.memory,
                similarity=near.similarity,
                why_not_merged=near.why_not_merged or "",
            )
            for near in alike
        ],
        ignore_conflicts=True,
    )
    if not job.args["apply"]:
        return
    if verdict.original and (original := duplicates.hold(verdict.original.memory)):
        reason = f"cosine {verdict.original.similarity}, found by job {job.pk}"
        duplicates.mark(memory, original, SYSTEM, reason=reason)
    duplicates.file_doubts(memory, verdict.doubts)


def _earlier(memory: Memory, job: Job) -> QuerySet[Memory]:
    """Earlier memories that this scan did not find to be duplicates themselves.

    So that a dry run finds what a run that applies would.
    """
    found = DuplicateFinding.objects.filter(job_id=job.pk, why_not_merged="")
    rows: QuerySet[Memory] = Memory.objects.filter(pk__lt=memory.pk)
    return rows.exclude(pk__in=found.values("memory"))

"""Duplicates of a whole project, found by a job that can be watched and stopped."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from audit import trail
from common.caller import SYSTEM, Caller, Role
from common.db import delete_in_batches, write
from inference.embedding import active_model
from inference.embedding.vector import Vector
from jobs import queue, runner
from jobs.models import Job
from memories import near_duplicates
from memories import near_duplicates as memories_near_duplicates
from memories.duplicates import mark
from memories.models import DuplicateFinding, Memory, MemoryVector
from memories.near_duplicates import Verdict
from projects.models import Project

KIND = "deduplicate"
SCAN_BATCH = 100  # memories compared between two steps; what a killed attempt repeats


@write
def start(
    project: Project, caller: Caller, *, threshold: float | None, apply: bool
) -> Job:
    """Start a scan of the project; without `apply` it only reports (REQ-MEM-DEDUP-002)."""
    caller.require_unbound(Role.CURATOR, project.pk, action="deduplicate a project")
    args = {
        "threshold": threshold or project.options.dedup.threshold,
        "apply": apply,
        "actor": caller.name,
    }
    job = queue.enqueue(KIND, project_id=project.pk, args=args)
    assert job
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


@runner.handler(KIND, lease=timedelta(minutes=5))
def scan_project(run: runner.JobRun) -> dict[str, Any]:
    """Compare every memory with the earlier ones; the earliest is the original."""
    job = run.job
    assert job.project_id
    project = Project.objects.get(pk=job.project_id)
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
    found = DuplicateFinding.objects.filter(job_id=job.pk)
    kept = found.exclude(why_not_merged="").count()
    result: dict[str, Any] = {
        "scanned": done,
        "duplicates": found.count() - kept,
        "possible_duplicates": kept,
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
    """Look for the originals of memories, with the threshold and wish of the job."""
    threshold = job.args["threshold"]
    found = near_duplicates.find_near_each(
        batch[0].project_id, _with_vectors(batch), threshold=threshold
    )
    for memory, vector, close in found:
        among = _earlier_rows(memory, job)
        verdict = near_duplicates.compare(
            memory, vector, threshold=threshold, among=among, close=close
        )
        if verdict != near_duplicates.NO_VERDICT:
            _record_findings(memory, verdict, job)


def forget_findings() -> None:
    """Delete what a job found that is gone: none asks for it any more."""
    jobs = Job.objects.filter(pk=OuterRef("job_id"))
    delete_in_batches(DuplicateFinding.objects.filter(~Exists(jobs)))


def _with_vectors(batch: Sequence[Memory]) -> list[tuple[Memory, Vector]]:
    """Those that the active model has embedded, with their vectors."""
    stored = MemoryVector.objects.filter(
        memory__in=batch, model=active_model.get().name
    )
    vectors = {each.memory_id: each.vector for each in stored}
    return [(each, vectors[each.pk]) for each in batch if each.pk in vectors]


def _record_findings(memory: Memory, verdict: Verdict, job: Job) -> None:
    near = [verdict.original] if verdict.original else verdict.doubts
    held = memories_near_duplicates.lock_all_unchanged(
        [memory, *(likeness.memory for likeness in near)]
    )
    if memory.pk not in held:
        return
    DuplicateFinding.objects.bulk_create(
        [
            DuplicateFinding(
                job_id=job.pk,
                project_id=memory.project_id,
                memory=memory,
                original=likeness.memory,
                similarity=likeness.similarity,
                why_not_merged=likeness.why_not_merged or "",
            )
            for likeness in near
            if likeness.memory.pk in held
        ],
        ignore_conflicts=True,
    )
    if job.args["apply"]:
        _apply(memory, verdict, job)


def _apply(memory: Memory, verdict: Verdict, job: Job) -> None:
    """Mark a memory, or file its doubts, unless it changed since it was read."""
    if fresh := memories_near_duplicates.lock_unchanged(memory):
        found_by = f", found by job {job.pk}"
        mark.apply_verdict(fresh, verdict, SYSTEM, found=found_by)


def _earlier_rows(memory: Memory, job: Job) -> QuerySet[Memory]:
    """Earlier memories that this scan did not find to be duplicates themselves.

    So that a dry run finds what a run that applies would.
    """
    found = DuplicateFinding.objects.filter(
        job_id=job.pk, why_not_merged="", memory=OuterRef("pk")
    )
    rows: QuerySet[Memory] = Memory.objects.filter(~Exists(found), pk__lt=memory.pk)
    return rows

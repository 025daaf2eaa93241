"""Insert jobs in the transaction that causes them; retry, discard and cancel jobs."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from common import errors
from common.db import insert_new, write
from jobs import broker
from jobs.models import Job


def enqueue(
    kind: str,
    *,
    project_id: uuid.UUID | None = None,
    args: Mapping[str, Any] | None = None,
    key: str = "",
    run_after: datetime | None = None,
) -> Job | None:
    """Insert a job, and notify a worker when the transaction commits.

    Return None if a job of this kind with the same key already waits.
    """
    job = Job(
        kind=kind,
        project_id=project_id,
        args=dict(args or {}),
        key=key,
        run_after=run_after or timezone.now(),
    )
    if not insert_new([job]):
        return None
    if run_after is None:
        transaction.on_commit(
            functools.partial(broker.wake_worker, job.pk), robust=True
        )
    return job


def enqueue_or_find(
    kind: str, *, project_id: uuid.UUID, args: Mapping[str, Any], key: str
) -> Job:
    """Like `enqueue`, but return the job with the same key if one waits already."""
    same = Job.objects.filter(kind=kind, key=key, state=Job.State.WAITING)
    # A waiting job may begin between the two statements; then a new one can be inserted.
    while True:
        job = enqueue(kind, project_id=project_id, args=args, key=key) or same.first()
        if job:
            return job


class WrongJobState(errors.StateConflict):
    """The state of the job does not allow the request."""

    code = "job_state"


@write
def retry(job: Job) -> Job:
    """Let a failed job continue where it stopped.

    Refuse if another job with the same key waits, because the waiting job does the work.
    """
    same = Job.objects.filter(kind=job.kind, key=job.key, state=Job.State.WAITING)
    if job.key and same.exists():
        raise WrongJobState("The same work waits already; discard this job instead.")
    _move(job, {Job.State.FAILED}, Job.State.WAITING, attempts=0, finished_at=None)
    transaction.on_commit(functools.partial(broker.wake_worker, job.pk), robust=True)
    return job


@write
def discard(job: Job) -> Job:
    """Remove a failed job from the list of dead letters; keep the row."""
    return _move(job, {Job.State.FAILED}, Job.State.DISCARDED)


@write
def cancel(job: Job) -> Job:
    """End a waiting job now, or a running job at its next step."""
    unfinished = {Job.State.WAITING, Job.State.RUNNING}
    return _move(job, unfinished, Job.State.CANCELLED, finished_at=timezone.now())


def _move(job: Job, allowed: set[Job.State], to: Job.State, **columns: Any) -> Job:
    updated = Job.objects.filter(pk=job.pk, state__in=allowed).update(
        state=to, run_after=timezone.now(), **columns
    )
    job.refresh_from_db()
    if not updated:
        raise WrongJobState(
            f"The job is {job.state}; for this request, "
            f"it must be {' or '.join(sorted(allowed))}."
        )
    return job

"""Retry, discard or cancel a job, with its audit row."""

from __future__ import annotations

from audit.trail import record
from common import errors
from common.caller import Caller, Role
from common.db import write
from jobs import queue
from jobs.models import Job

ACTIONS = {"retry": queue.retry, "discard": queue.discard, "cancel": queue.cancel}


@write
def perform(job: Job, action: str, caller: Caller) -> Job:
    """Check the caller's role and run an action of ACTIONS on a job."""
    if job.project_id:
        caller.require(Role.CURATOR, job.project_id)
    elif (caller.everywhere or 0) < Role.CURATOR:
        raise errors.Forbidden
    job = ACTIONS[action](job)
    record(
        caller,
        f"job.{action}",
        project_id=job.project_id,
        object_type="job",
        object_id=job.pk,
        kind=job.kind,
    )
    return job

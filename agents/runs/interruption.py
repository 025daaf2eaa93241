"""Find runs whose process is gone, and mark them, so that their conversations go on."""

from __future__ import annotations

import structlog
from django.db import DatabaseError
from django.utils import timezone

from agents.models import AgentRun
from agents.runs import run_job
from agents.runs.callers import caller_of
from agents.runs.heartbeat import MAX_SILENCE
from agents.runs.recorder import RunEnded, interrupt
from common import errors
from jobs.models import Job

log = structlog.get_logger(__name__)


def mark_interrupted() -> int:
    """Mark the runs whose process gives no more signs; return how many there were.

    A run that waits in the queue is marked only if its job is gone: a process may die
    before it has inserted the job.
    """
    silent = AgentRun.objects.filter(
        status__in=[AgentRun.RunStatus.QUEUED, AgentRun.RunStatus.RUNNING],
        alive_at__lt=timezone.now() - MAX_SILENCE,
    )
    count = 0
    for run in silent.select_related("project"):
        if _waits_for_job(run):
            continue
        try:
            interrupt(run, caller_of(run))
        except RunEnded:
            continue  # it ended after it was read
        # One run that cannot be ended must not hide the others.
        except (errors.Refusal, DatabaseError, ValueError) as error:
            log.error("agent_run_not_marked", run_id=str(run.pk), exc_info=error)
            continue
        log.warning("agent_run_interrupted", run_id=str(run.pk))
        count += 1
    return count


def _waits_for_job(run: AgentRun) -> bool:
    if run.status != AgentRun.RunStatus.QUEUED:
        return False
    return Job.objects.filter(kind=run_job.KIND, key=str(run.pk)).unfinished().exists()

"""Find runs whose process is gone, and mark them, so that their conversations go on."""

from __future__ import annotations

from datetime import timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from agents.models import AgentRun
from agents.runs import run_job
from agents.runs.callers import caller_of
from agents.runs.recorder import RunEnded, interrupt
from common import errors
from jobs.models import Job

log = structlog.get_logger(__name__)

SLACK = timedelta(seconds=60)
# A tool may take this long; a longer timeout of a tool is refused.
LONGEST_TOOL = timedelta(seconds=300)


def mark_interrupted() -> int:
    """Mark the runs that were silent for longer than a model or a tool may take.

    Return how many there were. A run that waits in the queue is marked only if its job is
    gone: a process may die before it has inserted the job.
    """
    longest = max(timedelta(seconds=settings.LANGUAGE_TIMEOUT), LONGEST_TOOL)
    silent = AgentRun.objects.filter(
        status__in=[AgentRun.RunStatus.QUEUED, AgentRun.RunStatus.RUNNING],
        alive_at__lt=timezone.now() - longest - SLACK,
    )
    count = 0
    for run in silent.select_related("project"):
        if _is_in_a_job(run):
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


def _is_in_a_job(run: AgentRun) -> bool:
    return Job.objects.filter(kind=run_job.KIND, key=str(run.pk)).unfinished().exists()

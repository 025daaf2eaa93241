"""Bound how many runs of a project go on at the same time."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from agents.models import AgentRun
from agents.runs.heartbeat import MAX_SILENCE
from common import errors, locks
from projects.models import Project

MAX_RUNNING = 8  # runs of one project at the same time
RETRY_AFTER = 5  # seconds
# A run that has waited for a worker for so long has no place: the workers may be away.
MAX_QUEUED = timedelta(minutes=20)


class TooManyRuns(errors.Refusal):
    """The project runs as many agents at once as it may; try again in a moment."""

    status = 429
    code = "too_many_runs"


def refuse_too_many(project: Project) -> None:
    """Refuse if the project has no room for a run that begins or goes on.

    A run that waits for a worker has its place already. The count is locked until the
    transaction ends; take this lock before that of a run.
    """
    locks.lock_in_transaction(f"agent runs of {project.pk}")
    now, status = timezone.now(), AgentRun.RunStatus
    runs = AgentRun.objects.filter(
        Q(status=status.RUNNING, alive_at__gte=now - MAX_SILENCE)
        | Q(status=status.QUEUED, alive_at__gte=now - MAX_QUEUED),
        project=project,
    )
    if runs.count() >= MAX_RUNNING:
        raise TooManyRuns(retry_after=RETRY_AFTER)

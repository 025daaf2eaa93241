from __future__ import annotations

import uuid
from typing import Any

from celery import current_app, shared_task
from celery.signals import task_success, worker_ready

from jobs import broker, runner
from jobs.models import Heartbeat, Job

SCHEDULE_PREFIX = "task:"  # begins the names of heartbeats of scheduled tasks
SWEEP_LIMIT = 500  # the most jobs sent again in one pass


@shared_task
def run(job_id: str) -> None:
    runner.run(uuid.UUID(job_id))


@shared_task
def sweep() -> None:
    """Notify workers of jobs that wait or lost their worker; update the heartbeat."""
    due = Job.objects.due().order_by("run_after").values_list("pk", flat=True)
    for job_id in due[:SWEEP_LIMIT]:
        broker.wake_worker(job_id)
    Heartbeat.beat(Heartbeat.WORKER)


@worker_ready.connect
def sweep_at_once(**kwargs: object) -> None:
    """Update the heartbeat as soon as a worker is ready, not ten seconds later."""
    sweep.delay()


@task_success.connect
def note_schedule(sender: Any, **kwargs: object) -> None:
    """Record the last success of a scheduled task, for the page of schedules."""
    scheduled = {entry["task"] for entry in current_app.conf.beat_schedule.values()}
    if sender.name in scheduled:
        Heartbeat.beat(f"{SCHEDULE_PREFIX}{sender.name}")

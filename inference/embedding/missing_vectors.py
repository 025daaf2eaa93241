"""Count the texts that have no vector yet, and find a job for each."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone

from common import locks
from inference.embedding import active_model, reembed
from inference.embedding.reembed import EmbeddedTable
from jobs import queue
from jobs.models import Heartbeat, Job

SWEEP = "missing-vectors"  # the heartbeat of `enqueue_missing`
RETRY_AFTER = timedelta(hours=1)  # until a failed job is tried again


@dataclass(frozen=True)
class MissingVectors:
    """The texts without a vector of the active model.

    A job will embed those that wait; `oldest` is when the oldest of them was stored. The
    others failed: the model refused them, or the job failed.
    """

    waiting: int = 0
    failed: int = 0
    oldest: datetime | None = None


def describe(
    project_id: uuid.UUID, visible: Callable[[Any], QuerySet[Any]]
) -> MissingVectors:
    """Count the texts of a project without a vector; `visible` selects rows to count."""
    kinds = [table.kind for table in reembed.EMBEDDED_TABLES]
    jobs = Job.objects.filter(kind__in=kinds, project_id=project_id)
    has_job = jobs.unfinished().exists()
    refused = _refused_ids(jobs)
    waiting, failed, since = 0, 0, []
    model = active_model.find_name()
    for table in reembed.EMBEDDED_TABLES:
        missing = table.waiting(model)
        rows = visible(missing.filter(project_id=project_id)).order_by()
        counts = rows.aggregate(
            missing=Count("pk"),
            waiting=Count("pk", filter=~Q(pk__in=refused)),
            oldest=Min("created_at", filter=~Q(pk__in=refused)),
        )
        if has_job:
            waiting += counts["waiting"]
            since += [counts["oldest"]] if counts["oldest"] else []
        failed += counts["missing"] - (counts["waiting"] if has_job else 0)
    return MissingVectors(waiting, failed, min(since, default=None))


def count_missing() -> int:
    """Count the texts without a vector in all projects; this reads every row."""
    model = active_model.get().name
    return sum(table.waiting(model).count() for table in reembed.EMBEDDED_TABLES)


def enqueue_missing() -> None:
    """Enqueue a job for each project that has texts without a vector and no job for them.

    Whatever ended the job of a text, the next sweep finds the text.
    """
    model = active_model.find_name()
    began, missing = time.monotonic(), 0
    with locks.no_timeouts():
        for table in reembed.EMBEDDED_TABLES:
            by_project = table.waiting(model).order_by().values_list("project_id")
            for project_id, count in by_project.annotate(Count("pk")):
                missing += count
                _ensure_job(table, model, project_id)
    seconds = round(time.monotonic() - began, 3)
    Heartbeat.beat(SWEEP, missing=missing, seconds=seconds)


def _ensure_job(table: EmbeddedTable, model: str, project_id: uuid.UUID) -> None:
    """Enqueue the job of a project, unless one will run or all its texts are refused.

    A job that failed is tried again after a while.
    """
    jobs = Job.objects.filter(kind=table.kind, project_id=project_id)
    if jobs.unfinished().exists():
        return
    last = jobs.order_by("-pk").first()
    if last and last.state == Job.State.FAILED:
        if last.finished_at and last.finished_at < timezone.now() - RETRY_AFTER:
            queue.retry(last)
        return
    rows = table.waiting(model).filter(project_id=project_id)
    if rows.exclude(pk__in=_refused_ids(jobs)).exists():
        queue.enqueue(table.kind, project_id=project_id, key=str(project_id))


def _refused_ids(jobs: QuerySet[Job]) -> list[str]:
    """Return the ids of the texts that the last job of each kind names as refused."""
    done = jobs.filter(state=Job.State.DONE).order_by("kind", "-finished_at")
    results = done.distinct("kind").values_list("result", flat=True)
    lines = [line for result in results for line in result.get("refused", ())]
    return [line.partition(":")[0] for line in lines]

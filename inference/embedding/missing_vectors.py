"""Count the texts that have no vector yet, and tell whether a job will embed them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, Q, QuerySet

from inference.embedding import active_model, reembed
from jobs.models import Job

# The jobs that embed the texts of a project.
KINDS = (
    "embed",
    "embed_deltas",
    "embed_entries",
    "embed_messages",
    "embed_summaries",
)


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
    jobs = Job.objects.filter(kind__in=KINDS, project_id=project_id)
    has_job = jobs.unfinished().exists()
    refused = _refused_ids(jobs)
    waiting, failed, since = 0, 0, []
    model = active_model.find_name()
    for table in reembed.EMBEDDED_TABLES:
        missing = table.without_vector(model)
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
    """Count the texts without a vector in all projects whose embedding is not finished.

    A write without a vector enqueues a job in its transaction, so only these projects can
    have such texts. To count in all projects would read every row.
    """
    jobs = Job.objects.filter(kind__in=KINDS)
    unfinished = Q(state__in=[Job.State.WAITING, Job.State.RUNNING, Job.State.FAILED])
    left_over = unfinished | Q(state=Job.State.DONE) & ~Q(result__refused=[])
    projects = jobs.filter(left_over).order_by().values("project_id").distinct()
    ids = list(projects.values_list("project_id", flat=True))
    if not ids:
        return 0
    model = active_model.get().name
    return sum(
        table.without_vector(model).filter(project_id__in=ids).count()
        for table in reembed.EMBEDDED_TABLES
    )


def _refused_ids(jobs: QuerySet[Job]) -> list[str]:
    """Return the ids of the texts that the last job of each kind names as refused."""
    done = jobs.filter(state=Job.State.DONE).order_by("kind", "-finished_at")
    results = done.distinct("kind").values_list("result", flat=True)
    lines = [line for result in results for line in result.get("refused", ())]
    return [line.partition(":")[0] for line in lines]

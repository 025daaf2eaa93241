"""Maintain the vector indexes of large projects, in a job."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from jobs import errors, queue, runner
from jobs.models import Job
from memories.models import MemoryVector
from search import vector_index

KIND = "vector_indexes"


def start_due() -> None:
    """Start the job if an index is missing, no longer needed or bloated."""
    if Job.objects.unfinished().filter(kind=KIND).exists():
        return
    if len(vector_index.plan_changes(MemoryVector)):
        queue.enqueue(KIND, key=KIND)


# The lease is long, because building an index reports no progress.
@runner.handler(KIND, lease=timedelta(hours=1))
def maintain(run: runner.JobRun) -> dict[str, Any]:
    try:
        return dict(vector_index.maintain(MemoryVector, run.step))
    except vector_index.IndexWorkRunning as busy:
        raise errors.Later("another process works on the indexes") from busy

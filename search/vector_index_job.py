"""Maintain the vector indexes of large projects, in a job."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from jobs import errors, queue, runner
from jobs.models import Job
from search import vector_index

KIND = "vector_indexes"


def start_due() -> None:
    """Start the job if an index is missing, no longer needed or bloated."""
    if Job.objects.unfinished().filter(kind=KIND).exists():
        return
    plans = map(vector_index.plan_changes, vector_index.INDEXED_TABLES)
    if any(map(len, plans)):
        queue.enqueue(KIND, key=KIND)


# The job may be silent for long, because building an index reports no progress.
@runner.handler(KIND, silence=timedelta(hours=1))
def maintain(run: runner.JobRun) -> dict[str, Any]:
    """Maintain the indexes of every table; the result lists what changed in all of them."""
    result: dict[str, list[str]] = {}
    try:
        for vectors in vector_index.INDEXED_TABLES:
            for name, changed in vector_index.maintain(vectors, run.step).items():
                result[name] = [*result.get(name, []), *changed]
    except vector_index.IndexWorkRunning as busy:
        raise errors.Later("another process works on the indexes") from busy
    return result

"""Delete the runs of a deleted project after its grace period."""

from __future__ import annotations

import uuid

from ace.models import AceRun, ModelReflection, Reflection
from inference.models import ModelCall
from jobs.runner import JobRun
from projects import deletion

BATCH = 1000


@deletion.register
def remove(project_id: uuid.UUID, run: JobRun) -> None:
    """Delete the runs with their reflections and model calls, in batches of 1,000."""
    ModelReflection.objects.filter(project_id=project_id).delete()
    rows = AceRun.objects.filter(project_id=project_id).order_by("pk")
    done = run.job.done
    while chosen := list(rows.values_list("pk", flat=True)[:BATCH]):
        Reflection.objects.filter(run__in=chosen).delete()
        AceRun.objects.filter(pk__in=chosen).delete()
        done += len(chosen)
        run.step(done)
        run.yield_turn()
    # `inference` does not know projects, so its rows are deleted here.
    ModelCall.objects.filter(project_id=project_id).delete()

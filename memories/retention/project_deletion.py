"""The end of a project's memories, when its grace is over."""

from __future__ import annotations

import uuid

from django.db import transaction
from django.utils import timezone

from common import append_only
from jobs.runner import JobRun
from memories.models import (
    DuplicateFinding,
    File,
    Memory,
    MemoryChange,
    MemoryFile,
    MemoryVector,
    PossibleDuplicate,
    Purge,
    Tag,
)
from projects import deletion
from search import statistics

BATCH = 1000


@deletion.register
def delete_memories(project_id: uuid.UUID, run: JobRun) -> None:
    """Delete memories with all that hangs on them, a thousand at a time."""
    done = run.job.done
    rows = Memory.objects.filter(project_id=project_id).order_by("pk")
    while chosen := list(rows.values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic(), append_only.allow_changes():
            # Rows point to each other; together they may go, one by one they may not.
            # Deleted, so that none takes the place of the one that it pointed to.
            now = timezone.now()
            Memory.objects.filter(duplicate_of__in=chosen).update(
                is_duplicate=False, duplicate_of=None, deleted_at=now
            )
            Memory.objects.filter(superseded_by__in=chosen).update(
                superseded_by=None, deleted_at=now
            )
            for model in (PossibleDuplicate, DuplicateFinding):
                model.objects.filter(project_id=project_id).delete()
            MemoryFile.objects.filter(memory__in=chosen).delete()
            MemoryVector.objects.filter(memory__in=chosen).delete()
            MemoryChange.objects.filter(memory_id__in=chosen).delete()
            Memory.objects.filter(pk__in=chosen).delete()
        done += len(chosen)
        run.step(done)
        run.yield_turn()
    File.objects.filter(project_id=project_id).delete()
    Tag.objects.filter(project_id=project_id).delete()
    Purge.objects.filter(project_id=project_id).delete()
    statistics.forget(project_id)

"""Delete the memories of a deleted project when the project's grace period is over."""

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
    """Delete the memories of a project, in batches.

    Every row that refers to the memories is deleted too.
    """
    done = run.job.done
    rows = Memory.objects.filter(project_id=project_id).order_by("pk")
    while chosen := list(rows.values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic(), append_only.allow_changes():
            # Rows refer to each other, so references into this batch are cleared first. The
            # referring rows are marked as deleted, so that none of them becomes an original
            # in the meantime.
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

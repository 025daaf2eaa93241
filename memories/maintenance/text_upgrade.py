"""Hash, index and embed memories of before the chunks, in a job, while the service serves.

Migration 0016 enqueues the job for each project. Earlier, a memory was found by the title and
the content only, and the vector covered the beginning of a long text.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from common import locks
from common.caller import SYSTEM
from common.db import write
from inference.embedding import active_model, row_vectors
from inference.embedding.vector import Vector
from jobs import runner
from jobs.models import Job
from memories import searchable_text
from memories.models import Memory
from memories.store import originals, search_columns
from memories.store.vectors import put
from projects import search_language
from projects.models import Project
from search import statistics

KIND = "upgrade_texts"
SAME_TEXT = "the same text, found by the upgrade"
BATCH = 32  # rows between two steps; a killed job repeats at most one batch


@runner.handler(KIND, attempts=20, lease=timedelta(minutes=5))
def upgrade_project(run: runner.JobRun) -> dict[str, Any]:
    """Write every memory of a project whose whole text was not searched before."""
    project_id = run.job.project_id
    assert project_id
    rows = Memory.objects.filter(project_id=project_id).order_by("pk")
    total = run.job.total or rows.count()
    done, refused = run.job.done, row_vectors.Refusals()
    last = uuid.UUID(run.job.cursor.get("last") or uuid.UUID(int=0).hex)
    while batch := list(rows.filter(pk__gt=last).light()[:BATCH]):
        _upgrade([memory for memory in batch if is_old(memory)], refused)
        last = batch[-1].pk
        done += len(batch)
        run.step(done, max(total, done), cursor={"last": str(last)})
        run.yield_turn()
    with locks.no_timeouts():
        current = Memory.objects.current()
        statistics.rebuild(current, project_id=project_id, name=search_columns.CORPUS)
    return {"rows": done, "refused": row_vectors.describe(refused)}


def find_unfinished(projects: QuerySet[Project]) -> list[Project]:
    """Return the projects whose upgrade still waits, runs, or has failed."""
    jobs = Job.objects.filter(kind=KIND).exclude(
        state__in=[Job.State.DONE, Job.State.CANCELLED]
    )
    return list(projects.filter(pk__in=jobs.values("project_id")))


def is_old(memory: Memory) -> bool:
    """Whether the text that was searched earlier is not the whole text, or is a long one."""
    names = [name for name, _ in searchable_text.field_texts(memory)]
    return names != ["content"] or _is_long(memory)


def _is_long(memory: Memory) -> bool:
    return len(active_model.get().split(memory.text)) > 1


def _upgrade(memories: Sequence[Memory], refused: row_vectors.Refusals) -> None:
    searched = [m for m in memories if not (m.is_duplicate or m.deleted_at)]
    changed = [m for m in searched if m.text != _earlier_text(m) or _is_long(m)]
    embedded = {
        memory.pk: vectors
        for memory, vectors in row_vectors.embed_rows(
            changed, lambda memory: memory.text, refused
        )
    }
    if memories:
        _write(memories, embedded)


def _earlier_text(memory: Memory) -> str:
    return f"{memory.title}\n{memory.content}" if memory.title else memory.content


@write
def _write(memories: Sequence[Memory], embedded: dict[uuid.UUID, list[Vector]]) -> None:
    """Write the rows; the vectors of a text that changed meanwhile are left out."""
    texts = {memory.pk: memory.text for memory in memories}
    language = search_language.pin_language(memories[0].project_id)
    rows = Memory.objects.light().select_for_update(no_key=True).order_by("pk")
    for memory in rows.filter(pk__in=texts):
        search_columns.fill(memory, language)
        _save(memory)
        if memory.pk in embedded and memory.text == texts[memory.pk]:
            vectors = embedded[memory.pk]
            memory.vectors.filter(model=vectors[0].model).delete()
            put([(memory, vectors)])


def _save(memory: Memory) -> None:
    """Save the hash and the words; a text that was stored during the upgrade is a duplicate."""
    names = ["similarity_hash", "content_tsv"]
    try:
        with transaction.atomic():
            memory.save(update_fields=names)
    except IntegrityError:
        if original := originals.resolve_original(memory, SYSTEM):
            originals.mark_duplicate(memory, original, SYSTEM, reason=SAME_TEXT)
        memory.save(update_fields=names)

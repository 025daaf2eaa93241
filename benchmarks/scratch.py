"""A project for the length of a measurement."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import structlog
from celery import current_app
from django.db import connection
from django.utils import timezone

from common.caller import SYSTEM
from jobs import queue, running
from jobs.models import Job
from memories import vectors
from memories.indexing import CORPUS
from memories.models import Memory, MemoryVector
from projects import deletion, writing
from projects.models import Organization, Project
from search import statistics, vector_indexes

ORGANIZATION = "benchmarks"
# Texts are measured as they are: nothing is merged, masked or refused.
SETTINGS = {"dedup": {"enabled": False}, "secrets": "allow", "content_min": 1}

log = structlog.get_logger(__name__)

Step = Callable[[int], None]


@contextmanager
def project(
    name: str, *, keep: bool = False, settings: Mapping[str, Any] | None = None
) -> Iterator[Project]:
    """A new project, and its end when the block is left, however it is left."""
    # As a worker does: every app registers the jobs that it can run.
    current_app.loader.import_default_modules()
    fields = {"name": f"benchmark {name} {uuid.uuid4().hex[:8]}"}
    made = writing.create(
        fields,
        SYSTEM,
        organization=ORGANIZATION,
        settings={**SETTINGS, **(settings or {})},
    )
    try:
        yield made
    finally:
        if not keep:
            remove(made)


def remove(made: Project) -> None:
    """Delete a project as the product does, without the days of grace."""
    Project.objects.filter(pk=made.pk).update(delete_after=timezone.now())
    Job.objects.filter(project_id=made.pk).unfinished().update(
        state=Job.State.CANCELLED
    )
    job = queue.enqueue(deletion.KIND, project_id=made.pk, key=str(made.pk))
    if job:
        running.run(job.pk)
    if Project.objects.filter(pk=made.pk).exists():
        # A worker may have taken the job; else its row says why it failed.
        log.warning("benchmark_project_left", name=made.name, job=str(job and job.pk))
        return
    Organization.objects.filter(slug=ORGANIZATION, project=None).delete()


def embed(made: Project, step: Step) -> None:
    """Embed what waits, by the product's own job, telling how many are done."""
    job = Job(kind="embed", project_id=made.pk, state=Job.State.RUNNING)
    vectors.embed_waiting(Watched(job, step))


class Watched(running.Run):
    """A run of a job that no worker sees."""

    def __init__(self, job: Job, watch: Step) -> None:
        super().__init__(job, running.HANDLERS[job.kind])
        self.watch = watch

    def step(self, done: int, *args: object, **kwargs: object) -> None:
        self.watch(done)

    def give_way(self) -> None:
        pass  # nobody waits for it


def index_vectors() -> None:
    """Build and drop the vector indexes that a worker would by now."""
    vector_indexes.care(MemoryVector, lambda done, of: None)


def settle(made: Project) -> None:
    """Bring the statistics up to date: the product's for BM25, PostgreSQL's for plans."""
    statistics.rebuild(Memory.objects.current(), project_id=made.pk, name=CORPUS)
    with connection.cursor() as cursor:
        for model in (Memory, MemoryVector):
            cursor.execute(f"ANALYZE {model._meta.db_table}")

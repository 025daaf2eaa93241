"""Change the embedding model: make all vectors anew while searches use the old ones.

1. Every text gets a vector of the configured model, beside that of the active one.
2. When none is missing, and while no writer is under way, the configured model becomes
   the active one: then only what was written since the last look is looked at.
3. When every process knows, vectors of other models are removed.

The rows say what is left to do, so that a job that was killed or cancelled goes on.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.utils import timezone

from audit import trail
from common import locks
from common.caller import SYSTEM
from common.db import write
from common.ids import lowest_id_at
from inference.embedding import active_model, embedder, model_record, row_vectors
from inference.embedding.embedder import Embedder
from inference.embedding.vector import Vector, batches
from jobs import errors as job_errors
from jobs import queue, runner
from jobs.models import Job

KIND = "reembed"
BATCH = 32  # texts embedded between two steps of the job
# Rows looked at in one query. A query for all that lacks a vector is planned by
# statistics that know little of the new model, and may read all vectors each time.
WINDOW = 1000
# Writers of vectors wait so long at most, and less than for any lock.
SWITCH_MILLISECONDS = 5_000
# A vector's id tells when it was made, by the clock of another process, and it is seen
# when its transaction has ended. What took longer is found before old vectors go.
LONGEST_WRITE = timedelta(minutes=5)
DELETE_BATCH = 1000  # old vectors deleted in one transaction
# Until old vectors go: a process may not know of the switch yet (switching.SECONDS),
# and a request that began with them may be on its way.
GRACE = timedelta(minutes=1)


@dataclass(frozen=True)
class EmbeddedTable:
    """A table of vectors and the texts that they stand for.

    A row should have a vector when it is `due`, and when another model made it one.
    """

    vectors: type[Model]
    owner: str  # the foreign key of a vector to its row
    rows: QuerySet[Any]
    due: Q
    text: Callable[[Any], str]
    # Stores the vector of a row unless its text changed meanwhile.
    put: Callable[[Any, Vector], None]
    # What was left to do until the model is the active one. It calls what it is given
    # more often than the job's lease lasts.
    settle: Callable[[Callable[[], None]], None] = lambda step: None

    def lacking(self, model: str) -> QuerySet[Any]:
        """Rows that have no vector of this model and should."""
        vectors = self.vectors._base_manager.filter(**{self.owner: OuterRef("pk")})
        by_model = Exists(vectors.filter(model=model))
        return self.rows.filter(~by_model, self.due | Q(Exists(vectors)))

    def lacking_of(self, ids: Sequence[uuid.UUID], model: str) -> QuerySet[Any]:
        """The same among a few rows, however many vectors there are."""
        vectors = self.vectors._base_manager.filter(**{f"{self.owner}__in": ids})
        made = list(vectors.values_list(self.owner, "model"))
        due = self.rows.filter(self.due, pk__in=ids).values_list("pk", flat=True)
        wanted = {*due, *(pk for pk, _ in made)}
        missing = wanted - {pk for pk, name in made if name == model}
        return self.rows.filter(pk__in=missing).order_by("pk")

    def lacking_since(self, moment: datetime, model: str) -> QuerySet[Any]:
        """The same among rows that another model made vectors of since then.

        Those that no model made one of wait for a job of their own, as ever.
        """
        made = self.vectors._base_manager.filter(pk__gte=lowest_id_at(moment))
        ids = made.exclude(model=model).values_list(self.owner, flat=True)
        return self.lacking_of(list(ids), model)


EMBEDDED_TABLES: list[EmbeddedTable] = []


@dataclass
class ReembedAttempt:
    """One attempt to bring every text its vector."""

    run: runner.JobRun
    model: Embedder
    refused: row_vectors.Refusals = field(default_factory=dict)
    done: int = 0
    total: int = 0

    def count(self) -> None:
        """How many texts there are to embed, for those who wait: it may take its time."""
        if self.run.job.total:  # of an earlier turn
            self.total = self.run.job.total
            return
        with locks.no_timeouts():
            left = sum(
                self._left(s.lacking(self.model.name)).count() for s in EMBEDDED_TABLES
            )
        self.total = self.done + left

    def fill(self, *, in_turns: bool = False) -> None:
        """Bring every text its vector, from where the turn before this one stopped."""
        _analyze()
        first = self.run.job.cursor.get("shelf", 0)
        for place, shelf in enumerate(EMBEDDED_TABLES[first:], start=first):
            for batch in self._batches(place, shelf):
                self._make(shelf, batch)
                if in_turns:
                    self.run.yield_turn()
        self.run.step(self.done, cursor={})

    def fill_since(self, moment: datetime) -> None:
        for shelf in EMBEDDED_TABLES:
            for batch in batches(list(self._since(shelf, moment)), size=BATCH):
                self._make(shelf, batch)

    def lacks_since(self, moment: datetime) -> bool:
        return any(self._since(shelf, moment).exists() for shelf in EMBEDDED_TABLES)

    def _make(self, shelf: EmbeddedTable, batch: Sequence[Any]) -> None:
        made = row_vectors.embed_rows(batch, shelf.text, self.refused, model=self.model)
        _store(shelf, list(made))
        self.done += len(batch)
        self.run.step(self.done, max(self.total, self.done))

    def _batches(self, place: int, shelf: EmbeddedTable) -> Iterator[Sequence[Any]]:
        ids = shelf.rows.order_by("pk").values_list("pk", flat=True)
        cursor = self.run.job.cursor
        is_begun = cursor.get("shelf") == place
        last = uuid.UUID(cursor["after"]) if is_begun else uuid.UUID(int=0)
        while window := list(ids.filter(pk__gt=last)[:WINDOW]):
            last = window[-1]
            rows = shelf.lacking_of(window, self.model.name)
            yield from batches(list(self._left(rows)), size=BATCH)
            # Millions of rows that lack nothing take longer than the lease.
            self.run.step(self.done, cursor={"shelf": place, "after": str(last)})

    def _since(self, shelf: EmbeddedTable, moment: datetime) -> QuerySet[Any]:
        return self._left(shelf.lacking_since(moment, self.model.name))

    def _left(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return rows.exclude(pk__in=list(self.refused))


@write
def start() -> Job:
    """Start the change to the configured model, or name the job that is at it.

    A change to another model is given up: what it made goes with the old vectors.
    """
    model = embedder.from_settings().name
    unfinished = Job.objects.filter(kind=KIND).unfinished().order_by("pk")
    for other in unfinished.exclude(args__model=model):
        queue.cancel(other)
    if found := unfinished.first():
        return found
    job = queue.enqueue(KIND, key=KIND, args={"model": model})
    if job is None:  # another one was faster
        return unfinished.get()
    _audit("embeddings.change", job, active_model.get().name)
    return job


def _audit(verb: str, job: Job, old: str) -> None:
    trail.record(
        SYSTEM,
        verb,
        object_type="job",
        object_id=job.pk,
        model=job.args["model"],
        active=old,
    )


@runner.handler(KIND, attempts=20, lease=timedelta(minutes=5))
def reembed_all(run: runner.JobRun) -> dict[str, Any]:
    model = _model_of(run.job)
    filling = ReembedAttempt(run, model, done=run.job.done)
    filling.count()
    filling.fill(in_turns=True)
    is_news = not _switch(filling)
    for shelf in EMBEDDED_TABLES:
        shelf.settle(lambda: run.step(filling.done))
    result = {"model": model.name, "refused": row_vectors.describe(filling.refused)}
    if is_news:
        again = timezone.now() + GRACE
        queue.enqueue(KIND, key=KIND, args=run.job.args, run_after=again)
        return result | {"embedded": filling.done}
    return result | {"removed": _remove_others(run, model.name)}


@write
def _store(shelf: EmbeddedTable, made: Sequence[tuple[Any, Vector]]) -> None:
    """In one transaction: a commit takes longer than all else for a row."""
    for row, vector in made:
        shelf.put(row, vector)


def _model_of(job: Job) -> Embedder:
    model = embedder.from_settings()
    if model.name != job.args["model"]:
        raise job_errors.Later(
            f"This job changes to {job.args['model']}, but its worker is configured for "
            f"{model.name}. Restart all workers with the settings of one, or cancel it."
        )
    return model


def _switch(filling: ReembedAttempt) -> bool:
    """Make the model the active one once nothing lacks; whether it was already.

    All rows are looked at before writers have to wait, and then those written since.
    """
    began = timezone.now() - LONGEST_WRITE
    filling.fill()
    while True:
        with transaction.atomic():
            _wait_at_most(SWITCH_MILLISECONDS)
            name = model_record.lock()
            if name == filling.model.name:
                return True
            if not filling.lacks_since(began):
                active_model.activate(filling.model)
                _audit("embeddings.switch", filling.run.job, name or "")
                return False
        filling.fill_since(began)


def _analyze() -> None:
    """Tell the planner how many vectors there are of which model."""
    with connection.cursor() as cursor:
        for shelf in EMBEDDED_TABLES:
            cursor.execute(f"ANALYZE {shelf.vectors._meta.db_table} (model)")


def _wait_at_most(milliseconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {milliseconds:d}")


def _remove_others(run: runner.JobRun, model: str) -> int:
    """Delete the vectors of all other models, a thousand at a time."""
    removed = 0
    for shelf in EMBEDDED_TABLES:
        rows = shelf.vectors._base_manager.exclude(model=model).order_by("pk")
        while ids := list(rows.values_list("pk", flat=True)[:DELETE_BATCH]):
            removed += rows.filter(pk__in=ids).delete()[0]
            run.step(run.job.done + removed)
    return removed

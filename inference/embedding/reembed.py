"""Change the embedding model: make new vectors while searches use the old ones.

1. Every text gets a vector of the configured model and keeps its vector of the active one.
2. When no vector is missing, the configured model becomes the active one. This happens
   under a lock that excludes writers. Under the lock, only rows written since the last
   pass are checked.
3. When every process knows the new active model, the vectors of other models are removed.

The rows themselves show which texts are left, so that a new job can continue after a killed
or cancelled one.
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
from common.caller import SYSTEM, Caller
from common.db import write
from common.ids import lowest_id_at
from inference.embedding import active_model, embedder, model_record, row_vectors
from inference.embedding.calibration import Scale
from inference.embedding.embedder import Embedder
from inference.embedding.vector import Vector, batches
from inference.errors import InferenceError
from jobs import errors as job_errors
from jobs import queue, runner
from jobs.models import Job

KIND = "reembed"
BATCH = 32  # texts embedded between two steps of the job
# The number of rows checked in one query. The planner's statistics contain little about the
# new model, so for a query over all rows the planner may read all vectors each time.
WINDOW = 1000
# Writers of vectors wait at most this long, which is less than their lock timeout.
SWITCH_MILLISECONDS = 5_000
# A vector's id contains the time at which another process made the vector, by that
# process's clock. The vector becomes visible only when the transaction of that process
# ends. A vector of a longer transaction is found before the old vectors are removed.
LONGEST_WRITE = timedelta(minutes=5)
DELETE_BATCH = 1000  # old vectors deleted in one transaction
# Old vectors stay this long after the change of the active model. A process may not know of
# the change yet (model_record.CACHE_SECONDS), and a request may have begun with the old
# vectors.
GRACE = timedelta(minutes=1)


@dataclass(frozen=True)
class EmbeddedTable:
    """A table of vectors, and the rows whose texts the vectors embed.

    A row needs a vector if the row matches `due`, or if it has a vector of another model.
    """

    vectors: type[Model]
    owner: str  # the foreign key of a vector to its row
    rows: QuerySet[Any]
    due: Q
    text: Callable[[Any], str]
    # Stores the vectors of a row's chunks unless its text has changed meanwhile.
    store: Callable[[Any, list[Vector]], None]
    # The kind of the job that embeds a project's rows without a vector.
    kind: str
    # Cursors of running jobs count the tables, so the tables of a later release come last.
    release: int = 0
    # The work that had to wait until the model is active. It must call its argument at
    # least once within the job's silence.
    finish: Callable[[Callable[[], None]], None] = lambda step: None

    def without_vector(self, model: str) -> QuerySet[Any]:
        """Return the rows that need a vector of this model and have none."""
        vectors = self.vectors._base_manager.filter(**{self.owner: OuterRef("pk")})
        by_model = Exists(vectors.filter(model=model))
        return self.rows.filter(~by_model, self.due | Q(Exists(vectors)))

    def waiting(self, model: str) -> QuerySet[Any]:
        """Return the rows that their job has to embed: `due`, and without a vector."""
        vectors = self.vectors._base_manager.filter(**{self.owner: OuterRef("pk")})
        return self.rows.filter(self.due, ~Exists(vectors.filter(model=model)))

    def without_vector_among(
        self, ids: Sequence[uuid.UUID], model: str
    ) -> QuerySet[Any]:
        """Like `without_vector`, among a few rows; the cost does not depend on the table's size."""
        vectors = self.vectors._base_manager.filter(**{f"{self.owner}__in": ids})
        models = list(vectors.values_list(self.owner, "model"))
        due = self.rows.filter(self.due, pk__in=ids).values_list("pk", flat=True)
        need = {*due, *(pk for pk, _ in models)}
        missing = need - {pk for pk, name in models if name == model}
        return self.rows.filter(pk__in=missing).order_by("pk")

    def without_vector_since(self, moment: datetime, model: str) -> QuerySet[Any]:
        """Like `without_vector`, among rows that another model has embedded since a time.

        The table's own embedding job embeds rows without any vector.
        """
        new = self.vectors._base_manager.filter(pk__gte=lowest_id_at(moment))
        ids = new.exclude(model=model).values_list(self.owner, flat=True)
        return self.without_vector_among(list(ids), model)


EMBEDDED_TABLES: list[EmbeddedTable] = []


def register(table: EmbeddedTable) -> None:
    """Add a table of vectors; the order is fixed, because cursors refer to it."""
    EMBEDDED_TABLES.append(table)
    EMBEDDED_TABLES.sort(key=lambda each: (each.release, each.vectors._meta.db_table))


def table_of(vectors: type[Model]) -> EmbeddedTable:
    return next(each for each in EMBEDDED_TABLES if each.vectors is vectors)


@dataclass
class ReembedAttempt:
    """One attempt of the job to embed every text with a model."""

    run: runner.JobRun
    model: Embedder
    refusals: row_vectors.Refusals = field(default_factory=dict)
    done: int = 0
    total: int = 0

    def count(self) -> None:
        """Count the texts to embed, for the job's progress; the count may take long."""
        if self.run.job.total:  # counted in an earlier turn
            self.total = self.run.job.total
            return
        with locks.no_timeouts():
            left = sum(
                self._skip_refusals(table.without_vector(self.model.name)).count()
                for table in EMBEDDED_TABLES
            )
        self.total = self.done + left

    def fill(self, *, in_turns: bool = False) -> None:
        """Embed every text without a vector; start where the last turn stopped."""
        _analyze()
        first = self.run.job.cursor.get("shelf", 0)
        for place, table in enumerate(EMBEDDED_TABLES[first:], start=first):
            for batch in self._batches(place, table):
                self._embed(table, batch)
                if in_turns:
                    self.run.yield_turn()
        self.run.step(self.done, cursor={})

    def fill_since(self, moment: datetime) -> None:
        for table in EMBEDDED_TABLES:
            for batch in batches(list(self._since(table, moment)), size=BATCH):
                self._embed(table, batch)

    def is_missing_since(self, moment: datetime) -> bool:
        return any(self._since(table, moment).exists() for table in EMBEDDED_TABLES)

    def _embed(self, table: EmbeddedTable, batch: Sequence[Any]) -> None:
        pairs = row_vectors.embed_rows(
            batch, table.text, self.refusals, model=self.model
        )
        _store(table, list(pairs))
        self.done += len(batch)
        self.run.step(self.done, max(self.total, self.done))

    def _batches(self, place: int, table: EmbeddedTable) -> Iterator[Sequence[Any]]:
        ids = table.rows.order_by("pk").values_list("pk", flat=True)
        cursor = self.run.job.cursor
        is_resumed = cursor.get("shelf") == place
        last = uuid.UUID(cursor["after"]) if is_resumed else uuid.UUID(int=0)
        while window := list(ids.filter(pk__gt=last)[:WINDOW]):
            last = window[-1]
            rows = table.without_vector_among(window, self.model.name)
            yield from batches(list(self._skip_refusals(rows)), size=BATCH)
            # A pass over millions of rows with vectors takes longer than the job may be silent.
            self.run.step(self.done, cursor={"shelf": place, "after": str(last)})

    def _since(self, table: EmbeddedTable, moment: datetime) -> QuerySet[Any]:
        return self._skip_refusals(table.without_vector_since(moment, self.model.name))

    def _skip_refusals(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return rows.exclude(pk__in=list(self.refusals))


@dataclass(frozen=True)
class ModelChange:
    """The active model, the configured one, and the job that changes to it, if there is one."""

    active: str
    configured: str
    job: Job | None

    @property
    def is_due(self) -> bool:
        return self.active != self.configured


def describe_change() -> ModelChange:
    """Describe the change to the configured model; raises InferenceError."""
    job = Job.objects.filter(kind=KIND).unfinished().order_by("pk").first()
    return ModelChange(active_model.get().name, embedder.from_settings().name, job)


@write
def start(caller: Caller = SYSTEM) -> Job:
    """Start the change to the configured model, or return the job that already makes the change.

    A running change to another model is cancelled. The vectors of that model are removed
    together with the old vectors.
    """
    model = embedder.from_settings().name
    unfinished = Job.objects.filter(kind=KIND).unfinished().order_by("pk")
    for other in unfinished.exclude(args__model=model):
        queue.cancel(other)
    if found := unfinished.first():
        return found
    job = queue.enqueue(KIND, key=KIND, args={"model": model})
    if job is None:  # another process was faster
        return unfinished.get()
    _audit("embeddings.change", job, active_model.get().name, caller)
    return job


def _audit(verb: str, job: Job, old: str, caller: Caller = SYSTEM) -> None:
    trail.record(
        caller,
        verb,
        object_type="job",
        object_id=job.pk,
        model=job.args["model"],
        active=old,
    )


@runner.handler(KIND, attempts=20, silence=timedelta(minutes=5))
def reembed_all(run: runner.JobRun) -> dict[str, Any]:
    model = _model_of(run.job)
    attempt = ReembedAttempt(run, model, done=run.job.done)
    attempt.count()
    attempt.fill(in_turns=True)
    is_switched = _switch(attempt, _measure_scale(model))
    for table in EMBEDDED_TABLES:
        table.finish(lambda: run.step(attempt.done))
    result = {"model": model.name, "refused": row_vectors.describe(attempt.refusals)}
    if is_switched:
        again = timezone.now() + GRACE
        queue.enqueue(KIND, key=KIND, args=run.job.args, run_after=again)
        return result | {"embedded": attempt.done}
    return result | {"removed": _remove_others(run, model.name)}


@write
def _store(table: EmbeddedTable, pairs: Sequence[tuple[Any, list[Vector]]]) -> None:
    """Store the vectors in one transaction, because a commit for each row would take longest."""
    for row, vectors in pairs:
        table.store(row, vectors)


def _model_of(job: Job) -> Embedder:
    model = embedder.from_settings()
    if model.name != job.args["model"]:
        raise job_errors.Later(
            f"This job changes to {job.args['model']}, but its worker is configured for "
            f"{model.name}. Restart all workers with the settings of one model, or cancel "
            "the job."
        )
    return model


def _measure_scale(model: Embedder) -> Scale | None:
    try:
        return active_model.measure_scale(model)
    except InferenceError as error:
        raise job_errors.Later(str(error)) from error


def _switch(attempt: ReembedAttempt, scale: Scale | None) -> bool:
    """Make the model the active one when no vector is missing; False if it already is active.

    Check all rows before writers have to wait. Then, under the lock, check the rows that
    were written in the meantime.
    """
    began = timezone.now() - LONGEST_WRITE
    attempt.fill()
    while True:
        with transaction.atomic():
            _set_statement_timeout(SWITCH_MILLISECONDS)
            name = model_record.lock()
            if name == attempt.model.name:
                return False
            if not attempt.is_missing_since(began):
                active_model.activate(attempt.model, scale)
                _audit("embeddings.switch", attempt.run.job, name or "")
                return True
        attempt.fill_since(began)


def _analyze() -> None:
    """Update the planner's statistics of vectors by model."""
    with connection.cursor() as cursor:
        for table in EMBEDDED_TABLES:
            cursor.execute(f"ANALYZE {table.vectors._meta.db_table} (model)")


def _set_statement_timeout(milliseconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {milliseconds:d}")


def _remove_others(run: runner.JobRun, model: str) -> int:
    """Delete the vectors of all other models, DELETE_BATCH at a time."""
    removed = 0
    for table in EMBEDDED_TABLES:
        rows = table.vectors._base_manager.exclude(model=model).order_by("pk")
        while ids := list(rows.values_list("pk", flat=True)[:DELETE_BATCH]):
            removed += rows.filter(pk__in=ids).delete()[0]
            run.step(run.job.done + removed)
    return removed

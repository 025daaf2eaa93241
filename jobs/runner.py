"""Claim a job, run its handler under a lease, and record the result."""

from __future__ import annotations

import functools
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from django.db import Error, IntegrityError, connection, transaction
from django.db.models import F, Max, Q
from django.utils import timezone

from common.text import secrets
from jobs import broker, errors
from jobs.models import Heartbeat, Job

log = structlog.get_logger(__name__)

MAX_ERROR = 2_000  # characters of the error that a job keeps
FIRST_DELAY = timedelta(seconds=5)
MAX_DELAY = timedelta(minutes=30)
UNKNOWN_DELAY = timedelta(
    minutes=1
)  # until a job of an unknown kind is looked at again
LEASE = timedelta(seconds=60)  # a killed worker's job waits for so long
RENEWAL = 20.0  # seconds
SHARED_TURN = timedelta(seconds=5)  # of a project, while others wait
REMEMBERED_TURNS = timedelta(hours=1)
BUSY_DELAY = timedelta(
    seconds=10
)  # until a job looks again whether another is at its work
TURN_LENGTH = timedelta(minutes=1)  # how long a job runs before waiting jobs go first


@dataclass(frozen=True)
class JobHandler:
    """The function that runs jobs of one kind; running it twice must do no harm."""

    kind: str
    run: Callable[[JobRun], dict[str, Any] | None]
    attempts: int
    silence: timedelta
    is_shared: bool = False


HANDLERS: dict[str, JobHandler] = {}


def handler(
    kind: str,
    *,
    attempts: int = 8,
    silence: timedelta = timedelta(minutes=2),
    is_shared: bool = False,
) -> Callable[
    [Callable[[JobRun], dict[str, Any] | None]],
    Callable[[JobRun], dict[str, Any] | None],
]:
    """Register a function for jobs of one kind.

    The function returns the job's result and may raise `errors.Permanent` or
    `errors.Later`. It must call `run.step()` before it was silent for as long as `silence`
    says: until then, a thread renews its lease. If its jobs can take long, the function also
    calls `run.yield_turn()`, and in its next turn it continues where it stopped. Jobs of a
    kind that `is_shared` take turns by project.
    """

    def register(
        function: Callable[[JobRun], dict[str, Any] | None],
    ) -> Callable[[JobRun], dict[str, Any] | None]:
        HANDLERS[kind] = JobHandler(kind, function, attempts, silence, is_shared)
        return function

    return register


class JobRun:
    """One attempt at a job. `attempts` is the fencing number of its lease."""

    def __init__(self, job: Job, handler: JobHandler) -> None:
        self.job = job
        self.handler = handler
        self.silent_since = time.monotonic()

    @contextmanager
    def renew_lease(self) -> Iterator[None]:
        """Renew the lease from a thread while the block runs and its steps come in time."""
        is_over = threading.Event()
        thread = threading.Thread(
            target=self._renew, args=(is_over,), daemon=True, name="job-lease"
        )
        thread.start()
        try:
            yield
        finally:
            is_over.set()

    def _renew(self, is_over: threading.Event) -> None:
        longest = self.handler.silence.total_seconds()
        while not is_over.wait(RENEWAL):
            if time.monotonic() - self.silent_since > longest:
                return
            try:
                self._leased_row.update(lease_until=timezone.now() + LEASE)
            # The database may be back before the lease ends.
            except Error as error:
                log.warning(
                    "job_lease_not_renewed", **self._context(), error=str(error)
                )
            finally:
                connection.close()  # it would be idle until the next renewal

    @property
    def _leased_row(self) -> Any:
        return Job.objects.filter(
            pk=self.job.pk, state=Job.State.RUNNING, attempts=self.job.attempts
        )

    def step(
        self,
        done: int,
        total: int | None = None,
        *,
        cursor: dict[str, Any] | None = None,
    ) -> None:
        """Record progress and extend the lease; raise JobCancelled if the lease is lost.

        A step also updates the worker's heartbeat, because no sweep runs while all workers
        are busy. `cursor` is what the next attempt needs to continue from here. If the
        caller calls `step` inside the transaction of its own writes, the writes and the
        progress are committed together.
        """
        self.silent_since = time.monotonic()
        columns = {"done": done, "lease_until": timezone.now() + LEASE}
        if total is not None:
            columns["total"] = total
        if cursor is not None:
            columns["cursor"] = self.job.cursor = cursor
        if not self._leased_row.update(**columns):
            raise errors.JobCancelled
        # This happens after the commit. Every worker writes this row, so its lock must be
        # short.
        beat = functools.partial(Heartbeat.beat, Heartbeat.WORKER)
        transaction.on_commit(beat, robust=True)

    def yield_turn(self) -> None:
        """End a long turn if other jobs wait; the job continues after them.

        Call it after a step that made progress, and outside of its transaction.
        """
        assert self.job.started_at
        turn = timezone.now() - self.job.started_at
        due = Job.objects.due()
        if turn > TURN_LENGTH and due.exists():
            raise errors.TurnExpired
        if self.handler.is_shared and turn > SHARED_TURN:
            others = due.filter(kind=self.job.kind)
            if others.exclude(project_id=self.job.project_id).exists():
                raise errors.TurnExpired

    def require_alone(self) -> None:
        """Raise Busy if a job of the same kind and project began earlier and has its lease."""
        began = Job.objects.filter(
            kind=self.job.kind,
            project_id=self.job.project_id,
            state=Job.State.RUNNING,
            started_at__lt=self.job.started_at,
            lease_until__gte=timezone.now(),
        )
        if began.exclude(pk=self.job.pk).exists():
            raise errors.Busy("another job of this kind is at work in the project")

    def requeue(self) -> None:
        """Let the job wait for its next turn; the present turn does not count as an attempt."""
        self._wait(run_after=timezone.now(), attempts=F("attempts") - 1)
        broker.wake_worker(self.job.pk)

    def postpone(self, error: str, delay: timedelta) -> None:
        """Let the job wait for what it cannot change; this does not count as an attempt."""
        log.warning("job_postponed", **self._context(), error=error)
        self._wait(
            run_after=timezone.now() + delay,
            attempts=F("attempts") - 1,
            error=error,
        )

    def finish(self, result: dict[str, Any] | None) -> None:
        with transaction.atomic():
            is_done = self._leased_row.update(
                state=Job.State.DONE,
                result=result or {},
                error="",
                finished_at=timezone.now(),
                lease_until=None,
            )
            if is_done:
                Heartbeat.beat(f"job:{self.job.kind}")

    def fail(self, error: Exception, *, for_good: bool) -> None:
        # An error may quote a secret, or NUL, which PostgreSQL cannot store.
        text = secrets.error_text(f"{type(error).__name__}: {error}", MAX_ERROR)
        if for_good or self.job.attempts >= self.handler.attempts:
            log.error("job_failed", **self._context(), error=text, exc_info=error)
            self._leased_row.update(
                state=Job.State.FAILED,
                error=text,
                finished_at=timezone.now(),
                lease_until=None,
            )
            return
        delay = min(FIRST_DELAY * 2 ** (self.job.attempts - 1), MAX_DELAY)
        delay *= random.uniform(0.5, 1.5)
        log.warning("job_again", **self._context(), error=text, delay=str(delay))
        self._wait(run_after=timezone.now() + delay, error=text)

    def _wait(self, **columns: Any) -> None:
        columns["lease_until"] = None
        try:
            with transaction.atomic():
                self._leased_row.update(state=Job.State.WAITING, **columns)
        # By now another job with this key waits, and that job does the work.
        except IntegrityError:
            columns["finished_at"] = timezone.now()
            self._leased_row.update(state=Job.State.CANCELLED, **columns)

    def _context(self) -> dict[str, Any]:
        return {
            "job_id": str(self.job.pk),
            "kind": self.job.kind,
            "attempt": self.job.attempts,
        }


def claim(job_id: uuid.UUID) -> Job | None:
    """Take a due job; return None if another worker was faster or the job is not due.

    Of a kind that is shared, take the due job of the project whose last turn is longest ago.
    """
    job = Job.objects.filter(pk=job_id).first()
    handler = HANDLERS.get(job.kind) if job else None
    if handler and handler.is_shared:
        job_id = _choose_by_turn(handler.kind) or job_id
    is_claimed = (
        Job.objects.due()
        .filter(pk=job_id)
        .update(
            state=Job.State.RUNNING,
            attempts=F("attempts") + 1,
            started_at=timezone.now(),
            lease_until=timezone.now() + LEASE,
        )
    )
    return Job.objects.get(pk=job_id) if is_claimed else None


def _choose_by_turn(kind: str) -> uuid.UUID | None:
    """Return the oldest due job of the project whose jobs of this kind began least lately."""
    due = Job.objects.due().filter(kind=kind).order_by("project_id", "run_after", "pk")
    oldest = dict(due.distinct("project_id").values_list("project_id", "pk"))
    if len(oldest) < 2:
        return next(iter(oldest.values()), None)
    rows = Job.objects.filter(kind=kind, project_id__in=oldest).order_by()
    recent = Q(finished_at=None) | Q(finished_at__gte=timezone.now() - REMEMBERED_TURNS)
    begun = rows.filter(recent).exclude(started_at=None)
    last = dict(
        begun.values("project_id")
        .annotate(last=Max("started_at"))
        .values_list("project_id", "last")
    )
    first = min(oldest, key=lambda project: (project in last, last.get(project)))
    return oldest[first]


def run(job_id: uuid.UUID) -> None:
    """Run one job and record how it ended; never raise an error of the job."""
    job = claim(job_id)
    if job is None:
        return
    handler = HANDLERS.get(job.kind)
    if handler is None:
        unknown = JobHandler(job.kind, lambda run: None, 1, timedelta(minutes=1))
        error = f"this release has no handler for {job.kind}"
        JobRun(job, unknown).postpone(error, UNKNOWN_DELAY)
        return
    attempt = JobRun(job, handler)
    if job.attempts > handler.attempts:
        # No attempt recorded an error, so the job must have killed its worker.
        attempt.fail(errors.Permanent("its worker died each time"), for_good=True)
        return
    with structlog.contextvars.bound_contextvars(job_id=str(job_id)):
        try:
            with attempt.renew_lease():
                result = handler.run(attempt)
            attempt.finish(result)
        except errors.TurnExpired:
            attempt.requeue()
        except errors.Busy as error:
            attempt.postpone(str(error), BUSY_DELAY)
        except errors.JobCancelled:
            log.info("job_cancelled", job_id=str(job_id), kind=job.kind)
        except errors.Permanent as error:
            attempt.fail(error, for_good=True)
        # The job's row stores the error, where an operator sees it and retries the job.
        except Exception as error:
            attempt.fail(error, for_good=False)

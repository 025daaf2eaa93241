"""Claim a job, run its handler under a lease, and record how it ended."""

from __future__ import annotations

import functools
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from jobs import broker, errors
from jobs.models import Heartbeat, Job

log = structlog.get_logger(__name__)

FIRST_DELAY = timedelta(seconds=5)
MAX_DELAY = timedelta(minutes=30)
TURN_LENGTH = timedelta(minutes=1)  # what a job works before those that wait go first


@dataclass(frozen=True)
class JobHandler:
    """What runs jobs of one kind; it must do no harm when run twice."""

    kind: str
    run: Callable[[JobRun], dict[str, Any] | None]
    attempts: int
    lease: timedelta


HANDLERS: dict[str, JobHandler] = {}


def handler(
    kind: str, *, attempts: int = 8, lease: timedelta = timedelta(minutes=2)
) -> Callable[
    [Callable[[JobRun], dict[str, Any] | None]],
    Callable[[JobRun], dict[str, Any] | None],
]:
    """Register a function for jobs of one kind.

    It returns the job's result, may raise `errors.Permanent` or `errors.Later`,
    and calls `run.step()` more often than its lease lasts. When many of its kind may
    take long, it calls `run.yield_turn()`, too, and goes on where it stopped.
    """

    def register(
        function: Callable[[JobRun], dict[str, Any] | None],
    ) -> Callable[[JobRun], dict[str, Any] | None]:
        HANDLERS[kind] = JobHandler(kind, function, attempts, lease)
        return function

    return register


class JobRun:
    """One attempt at a job. `attempts` is the fencing number of its lease."""

    def __init__(self, job: Job, how: JobHandler) -> None:
        self.job = job
        self.how = how

    @property
    def _mine(self) -> Any:
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
        """Record progress and extend the lease; raises Cancelled when it is lost.

        It shows that the worker lives: while all are busy, no sweep does.
        `cursor` is what the next attempt needs to go on from here. Inside the
        transaction of a step's own writes both are committed, or neither is.
        """
        changed = {"done": done, "lease_until": timezone.now() + self.how.lease}
        if total is not None:
            changed["total"] = total
        if cursor is not None:
            changed["cursor"] = self.job.cursor = cursor
        if not self._mine.update(**changed):
            raise errors.JobCancelled
        # After the commit: a row that all workers write must not be held for long.
        show_life = functools.partial(Heartbeat.beat, Heartbeat.WORKER)
        transaction.on_commit(show_life, robust=True)

    def yield_turn(self) -> None:
        """End a turn that was long where others wait; the job goes on after them.

        After a step that brought it forward, and outside of its transaction.
        """
        assert self.job.started_at
        is_long = timezone.now() - self.job.started_at > TURN_LENGTH
        if is_long and Job.objects.due().exists():
            raise errors.TurnExpired

    def pause(self) -> None:
        """Wait for the next turn. This one is no failed attempt, and is not counted."""
        self._wait(run_after=timezone.now(), attempts=F("attempts") - 1)
        broker.wake_worker(self.job.pk)

    def finish(self, result: dict[str, Any] | None) -> None:
        with transaction.atomic():
            ended = self._mine.update(
                state=Job.State.DONE,
                result=result or {},
                error="",
                finished_at=timezone.now(),
                lease_until=None,
            )
            if ended:
                Heartbeat.beat(f"job:{self.job.kind}")

    def fail(self, error: Exception, *, for_good: bool) -> None:
        # PostgreSQL holds no NUL, and an error may quote one.
        text = f"{type(error).__name__}: {error}".replace("\x00", "")[:2000]
        if for_good or self.job.attempts >= self.how.attempts:
            log.error("job_failed", **self._context(), error=text, exc_info=error)
            self._mine.update(
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

    def _wait(self, **changed: Any) -> None:
        changed["lease_until"] = None
        try:
            with transaction.atomic():
                self._mine.update(state=Job.State.WAITING, **changed)
        # The key is waiting again by now; this job leaves the work to that one.
        except IntegrityError:
            changed["finished_at"] = timezone.now()
            self._mine.update(state=Job.State.CANCELLED, **changed)

    def _context(self) -> dict[str, Any]:
        return {
            "job_id": str(self.job.pk),
            "kind": self.job.kind,
            "attempt": self.job.attempts,
        }


def claim(job_id: uuid.UUID) -> Job | None:
    """Take a due job; None when another worker was faster or it is not due."""
    job = Job.objects.filter(pk=job_id).first()
    how = HANDLERS.get(job.kind) if job else None
    lease = how.lease if how else timedelta(minutes=1)
    taken = (
        Job.objects.due()
        .filter(pk=job_id)
        .update(
            state=Job.State.RUNNING,
            attempts=F("attempts") + 1,
            started_at=timezone.now(),
            lease_until=timezone.now() + lease,
        )
    )
    return Job.objects.get(pk=job_id) if taken else None


def run(job_id: uuid.UUID) -> None:
    """Run one job to its end, whatever that is; never raises for the job's fault."""
    job = claim(job_id)
    if job is None:
        return
    how = HANDLERS.get(job.kind)
    if how is None:
        unknown = JobHandler(job.kind, lambda run: None, 1, timedelta(minutes=1))
        error = errors.Permanent(f"no handler for {job.kind}")
        JobRun(job, unknown).fail(error, for_good=True)
        return
    attempt = JobRun(job, how)
    if job.attempts > how.attempts:
        # No error was ever recorded: the job took its worker with it.
        attempt.fail(errors.Permanent("its worker died each time"), for_good=True)
        return
    with structlog.contextvars.bound_contextvars(job_id=str(job_id)):
        try:
            attempt.finish(how.run(attempt))
        except errors.TurnExpired:
            attempt.pause()
        except errors.JobCancelled:
            log.info("job_cancelled", job_id=str(job_id), kind=job.kind)
        except errors.Permanent as error:
            attempt.fail(error, for_good=True)
        # The job's row is where the error goes: an operator sees and retries it.
        except Exception as error:
            attempt.fail(error, for_good=False)

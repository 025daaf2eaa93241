"""A finished task on its way: executor, reflector, curator, each committed by itself.

The memory is committed first, so that nothing is lost from there on. A phase that is
done is not done again: a resumed run goes on where it stopped.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import structlog
from django.db.models import Q
from django.utils import timezone

from access import idempotency
from ace import executor
from ace.curate import curator_phase
from ace.model_calls import model_call
from ace.models import AceRun
from ace.reflect import cited_entries, reflector_phase
from ace.rules import task as tasks
from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from jobs import errors as job_errors
from jobs import queue, runner
from jobs.models import Job, JobQuerySet
from memories.store import secret_policy
from memories.store import write as store_write
from projects.models import Project

log = structlog.get_logger(__name__)

KIND = "ace"
# A run that its own request does not finish in this time, beside what a language model
# may take, is taken over by a job.
TAKE_OVER_AFTER = timedelta(seconds=60)
ATTEMPTS = 8

# Each returns its part of the ACEResult and manages its own transactions.
PHASES: dict[str, Callable[[AceRun, Caller], dict[str, Any]]] = {
    "reflector": reflector_phase.reflect,
    "curator": curator_phase.curate,
}


def complete(
    project: Project,
    request: Mapping[str, Any],
    caller: Caller,
    *,
    ticket: idempotency.RequestIdentity | None = None,
    wait: bool = True,
) -> AceRun:
    """Turn a finished task into a memory and playbook deltas (REQ-MEM-ACE-004).

    With `wait=False` a job does everything after the memory. With a ticket, a
    repeated request gets the run of the first one, finished if it was not.
    """
    caller.require(Role.WRITER, project.pk)
    run = find_earlier(ticket) if ticket else None
    if run is None:
        run = _start(project, request, caller, ticket=ticket, wait=wait)
    elif run.state == AceRun.State.FAILED or (
        wait and run.state == AceRun.State.RUNNING
    ):
        _restart(run, wait=wait)
    if wait and run.state == AceRun.State.RUNNING:
        advance(run, caller)
    return run


def find_earlier(ticket: idempotency.RequestIdentity) -> AceRun | None:
    stored = idempotency.replay(ticket)
    return AceRun.objects.get(pk=stored.body["run_id"]) if stored else None


def _start(
    project: Project,
    request: Mapping[str, Any],
    caller: Caller,
    *,
    ticket: idempotency.RequestIdentity | None,
    wait: bool,
) -> AceRun:
    started = time.monotonic()
    agent_id = caller.agent_id_for(str(request.get("agent_id") or ""))
    kept, masked = secret_policy.guard(project.options.secrets, dict(request))
    task = tasks.parse(kept)
    draft = executor.draft_of(task, caller, project=project, agent_id=agent_id)
    notes = cited_entries.unknown_name_notes(project, kept)
    if masked:
        notes = (f"masked: {', '.join(dict.fromkeys(masked))}", *notes)
    draft = replace(draft, notes=notes)
    prepared = store_write.prepare(project, [draft], caller)
    for refusal in prepared.refusals.values():
        raise refusal
    run = AceRun(
        project=project,
        agent_id=agent_id,
        actor=caller.name[:200],
        key_id=caller.key_id,
        request=kept,
    )
    return _commit(run, prepared, caller, ticket=ticket, wait=wait, started=started)


@write
def _commit(
    run: AceRun,
    prepared: store_write.PreparedBatch,
    caller: Caller,
    *,
    ticket: idempotency.RequestIdentity | None,
    wait: bool,
    started: float,
) -> AceRun:
    """Executor: the key, the memory, the run and the job that finishes it, or nothing."""
    if ticket and idempotency.claim(ticket, {"run_id": str(run.pk)}) is None:
        first = find_earlier(ticket)
        assert first  # `claim` waited for the transaction that holds the key
        return first
    receipt = store_write.commit(prepared)[0]
    run.memory = receipt.memory
    run.phases = {"executor": _done_phase(started)}
    run.result = executor.result_of(receipt)
    run.save(force_insert=True)
    trail.record(
        caller,
        "task.complete",
        project_id=run.project_id,
        object_type="run",
        object_id=run.pk,
        agent=run.agent_id,
    )
    _enqueue_takeover(run, wait=wait)
    return run


def _enqueue_takeover(run: AceRun, *, wait: bool) -> None:
    """Have a job finish the run: at once, or when the request has had its time."""
    until = (
        timezone.now() + TAKE_OVER_AFTER + model_call.max_wait(run.project)
        if wait
        else None
    )
    queue.enqueue(
        KIND,
        project_id=run.project_id,
        args={"run_id": str(run.pk)},
        key=str(run.pk),
        run_after=until,
    )
    if until:
        # The lease is the request's: `at_work` knows it by that.
        _jobs([run.pk]).filter(state=Job.State.WAITING).update(
            run_after=until, lease_until=until
        )


def is_at_work(run_ids: Iterable[uuid.UUID]) -> bool:
    """Whether a worker is at one of these runs, or a request within its time."""
    by_worker = Q(state=Job.State.RUNNING)
    by_request = Q(state=Job.State.WAITING, lease_until__gt=timezone.now())
    return _jobs(run_ids).unfinished().filter(by_worker | by_request).exists()


def _jobs(run_ids: Iterable[uuid.UUID]) -> JobQuerySet:
    found: JobQuerySet = Job.objects.filter(
        kind=KIND, key__in=[str(pk) for pk in run_ids]
    )
    return found


def advance(run: AceRun, caller: Caller) -> AceRun:
    """Run the phases that are missing, as far as they go.

    Each is safe to run twice, also at the same time in two processes. One that fails
    is recorded on the run and logged; the run's job tries it again.
    """
    for name, phase in PHASES.items():
        if run.phases.get(name, {}).get("status") == "done":
            continue
        started = time.monotonic()
        try:
            part = phase(run, caller)
        # The memory is safe: the answer says which phase is missing and why.
        except Exception as error:
            log.error(
                "ace_phase_failed", run_id=str(run.pk), phase=name, exc_info=error
            )
            _record_phase(run, name, _failed_phase(f"{type(error).__name__}: {error}"))
            return run
        _record_phase(run, name, _done_phase(started), part)
    _finish(run)
    return run


@write
def _record_phase(
    run: AceRun, name: str, phase: dict[str, Any], part: Mapping[str, Any] | None = None
) -> None:
    """Keep how a phase ended, beside what another process may have kept meanwhile.

    A phase that is done there is not done again here, nor made a failure.
    """
    held = AceRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    if held.phases.get(name, {}).get("status") != "done":
        held.phases[name] = phase
        held.result |= part or {}
        held.save(update_fields=["phases", "result"])
    run.phases, run.result = held.phases, held.result


def _failed_phase(reason: str) -> dict[str, Any]:
    # PostgreSQL's JSON holds no NUL, and an error may quote one.
    error = reason.replace("\x00", "")[:500]
    return {"status": "failed", "error": error, "at": timezone.now().isoformat()}


@write
def _finish(run: AceRun) -> None:
    run.state = AceRun.State.DONE
    run.finished_at = timezone.now()
    run.save(update_fields=["state", "finished_at"])
    # The job that would have taken over has nothing left to do.
    _jobs([run.pk]).filter(state=Job.State.WAITING).update(
        state=Job.State.DONE, finished_at=run.finished_at, result={"by": "request"}
    )


def _done_phase(started: float) -> dict[str, Any]:
    return {
        "status": "done",
        "took_ms": round((time.monotonic() - started) * 1000, 1),
        "at": timezone.now().isoformat(),
    }


def resume(
    run: AceRun, caller: Caller, *, ticket: idempotency.RequestIdentity | None = None
) -> AceRun:
    """Finish a run whose process died or whose phase failed.

    With a ticket, a repeated request gets the run again, finished if it was not.
    """
    caller.require(Role.WRITER, run.project_id)
    _resume(run, ticket)
    if run.state == AceRun.State.RUNNING:
        advance(run, caller_of(run))
    return run


@write
def _resume(run: AceRun, ticket: idempotency.RequestIdentity | None) -> None:
    is_known = (
        ticket is not None
        and idempotency.claim(ticket, {"run_id": str(run.pk)}) is None
        and find_earlier(ticket) is not None
    )
    if not _restart(run) and not is_known:
        raise errors.StateConflict("This run is finished; there is nothing to resume.")


@write
def _restart(run: AceRun, *, wait: bool = True) -> bool:
    """Begin again, with a job that finishes what this request does not."""
    is_begun = _mark_running(run)
    if is_begun:
        _enqueue_takeover(run, wait=wait)
    return is_begun


def _mark_running(run: AceRun) -> bool:
    """Put a run to work; False when it is finished.

    Waits for a purge that holds the run, which ends it and takes its texts.
    """
    unfinished = AceRun.objects.filter(pk=run.pk).exclude(state=AceRun.State.DONE)
    begun = unfinished.update(state=AceRun.State.RUNNING, finished_at=None)
    run.refresh_from_db()
    return bool(begun)


def caller_of(run: AceRun) -> Caller:
    """The caller that a run goes on as: the one that sent it, with a writer's rights."""
    return Caller(
        name=run.actor,
        roles={run.project_id: Role.WRITER},
        key_id=run.key_id,
        agent_id=run.agent_id,
    )


@runner.handler(KIND, attempts=ATTEMPTS)
def take_over(job_run: runner.JobRun) -> dict[str, Any]:
    """Finish a run in a worker."""
    run = AceRun.objects.get(pk=job_run.job.args["run_id"])
    if not _mark_running(run):
        return {"by": "request"}
    if job_run.job.attempts >= ATTEMPTS:
        _record_crash(run)
    advance(run, caller_of(run))
    if run.state == AceRun.State.DONE:
        return {"by": "job"}
    raise job_errors.Later(_reason(run))


def _record_crash(run: AceRun) -> None:
    """Before the last attempt: what kills the worker itself leaves no other word."""
    status = {name: run.phases.get(name, {}).get("status") for name in PHASES}
    name = next((n for n in PHASES if status[n] != "done"), None)
    if name and status[name] != "failed":
        _record_phase(
            run, name, _failed_phase("The process died in this phase each time.")
        )
    unfinished = AceRun.objects.filter(pk=run.pk).exclude(state=AceRun.State.DONE)
    unfinished.update(state=AceRun.State.FAILED, finished_at=timezone.now())


def _reason(run: AceRun) -> str:
    phases = run.phases.values()
    return next((p["error"] for p in phases if p["status"] == "failed"), "")

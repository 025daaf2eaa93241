"""Process a finished task in three phases: executor, reflector, curator.

Each phase commits its own transaction. The executor stores the memory first, so the
memory is kept if a later phase fails. A resumed run continues after the last finished
phase.
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
from access.restored_caller import caller_of
from ace import curator, episode, executor, feedback_source, named_rules, reflector
from ace.episode import EpisodeSource
from ace.lessons import completed_run, reflections
from ace.models import AceRun
from ace.task import task as tasks
from ace.task.analysis import TaskAnalysis
from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from common.ids import uuid7
from common.text import secrets
from jobs import errors as job_errors
from jobs import queue, runner
from jobs.models import Job, JobQuerySet
from memories import scopes
from memories.scopes import Scope
from memories.store import write as store_write
from projects import secret_policy
from projects.models import Project

log = structlog.get_logger(__name__)

KIND = "ace"
# If a request has not finished its run after this time, a job takes over the run.
TAKE_OVER_AFTER = timedelta(seconds=60)
ATTEMPTS = 8

# Each phase returns its part of the ACEResult and manages its own transactions.
PHASES: dict[str, Callable[[AceRun, Caller], dict[str, Any]]] = {
    "reflector": reflector.reflect,
    "curator": curator.curate,
}


def complete(
    project: Project,
    request: Mapping[str, Any],
    caller: Caller,
    *,
    scope: Scope | None = None,
    identity: idempotency.RequestIdentity | None = None,
    run_id: uuid.UUID | None = None,
    source: EpisodeSource | None = None,
    wait: bool = True,
) -> AceRun:
    """Turn a finished task into a memory and playbook deltas (REQ-MEM-ACE-004).

    The memory is stored in `scope`; without it, in the scope of the user to whom the
    caller is bound, or in the workspace.

    With `wait=False`, this function only stores the memory, and a job runs the other
    phases. With an `identity`, a repeated request gets the run of the first request and
    finishes the run if necessary; so does a repetition with the same `run_id`, which is the
    id of a new run. With a `source`, the memory is an episode.
    """
    caller.require(Role.WRITER, project.pk)
    run = find_earlier(identity) if identity else _find(run_id)
    if run is None:
        scope = scope or scopes.resolve_for_task(None, project, caller)
        run = _start(
            project,
            request,
            caller,
            scope=scope,
            identity=identity,
            run_id=run_id,
            source=source,
            wait=wait,
        )
    elif run.state == AceRun.RunState.FAILED or (
        wait and run.state == AceRun.RunState.RUNNING
    ):
        _restart(run, wait=wait)
    if wait and run.state == AceRun.RunState.RUNNING:
        advance(run, caller)
    return run


def find_earlier(identity: idempotency.RequestIdentity) -> AceRun | None:
    stored = idempotency.replay(identity)
    return AceRun.objects.get(pk=stored.body["run_id"]) if stored else None


def _find(run_id: uuid.UUID | None) -> AceRun | None:
    return AceRun.objects.filter(pk=run_id).first() if run_id else None


def _start(
    project: Project,
    request: Mapping[str, Any],
    caller: Caller,
    *,
    scope: Scope,
    identity: idempotency.RequestIdentity | None,
    run_id: uuid.UUID | None,
    source: EpisodeSource | None,
    wait: bool,
) -> AceRun:
    started = time.monotonic()
    stored, kinds = secret_policy.guard(project.options.secrets, dict(request))
    agent_id = caller.agent_id_for(str(stored.get("agent_id") or ""))[:255]
    analysis = TaskAnalysis(tasks.parse(stored))
    draft = executor.draft_of(analysis, caller, project=project, agent_id=agent_id)
    if source:
        draft = episode.shape(draft, analysis, source)
    notes = (
        *feedback_source.downgrade_notes(stored),
        *named_rules.unknown_name_notes(project, stored),
    )
    if kinds:
        notes = (secret_policy.describe(kinds), *notes)
    draft = replace(draft, notes=(*notes, *draft.notes), scope=scope)
    batch = store_write.prepare(project, [draft], caller)
    if refusal := batch.items[0].refusal:
        raise refusal
    run = AceRun(
        project=project,
        agent_id=agent_id,
        actor=caller.name[:200],
        key_id=caller.key_id,
        account_id=caller.account_id,
        is_attested=caller.attests_in(project.pk),
        request=stored,
        pk=run_id or uuid7(),
    )
    run.analysis = analysis
    return _commit(
        run,
        batch,
        caller,
        identity=identity,
        run_id=run_id,
        wait=wait,
        started=started,
    )


@write
def _commit(
    run: AceRun,
    batch: store_write.Batch,
    caller: Caller,
    *,
    identity: idempotency.RequestIdentity | None,
    run_id: uuid.UUID | None,
    wait: bool,
    started: float,
) -> AceRun:
    """Commit the idempotency key, the memory, the run and its job in one transaction.

    If another request has committed the key or the id of the run first, return the run of
    that request.
    """
    if earlier := _find(run_id):
        return earlier
    if identity and idempotency.claim(identity, {"run_id": str(run.pk)}) is None:
        first = find_earlier(identity)
        assert first  # `claim` waits for a transaction that claims the same key
        return first
    receipt = store_write.commit(batch)[0]
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
    """Enqueue a job that finishes the run.

    Without `wait`, the job starts at once. With `wait`, the job starts only if the
    request has not finished the run in time.
    """
    until = timezone.now() + TAKE_OVER_AFTER if wait else None
    queue.enqueue(
        KIND,
        project_id=run.project_id,
        args={"run_id": str(run.pk)},
        key=str(run.pk),
        run_after=until,
    )
    if until:
        # The lease says that the request works on the run; `is_at_work` checks it.
        _jobs([run.pk]).filter(state=Job.State.WAITING).update(
            run_after=until, lease_until=until
        )


def is_at_work(run_ids: Iterable[uuid.UUID]) -> bool:
    """Return whether a process may be working on one of the runs.

    The process is a worker, or a request that still has time.
    """
    by_worker = Q(state=Job.State.RUNNING)
    by_request = Q(state=Job.State.WAITING, lease_until__gt=timezone.now())
    return _jobs(run_ids).unfinished().filter(by_worker | by_request).exists()


def _jobs(run_ids: Iterable[uuid.UUID]) -> JobQuerySet:
    found: JobQuerySet = Job.objects.filter(
        kind=KIND, key__in=[str(pk) for pk in run_ids]
    )
    return found


def advance(run: AceRun, caller: Caller) -> AceRun:
    """Run the phases that are not done yet, in order. Stop at the first failure.

    A phase may run twice, even in two processes at the same time. A failure is logged
    and recorded on the run. The job of the run tries the failed phase again.
    """
    for name, phase in PHASES.items():
        if run.phases.get(name, {}).get("status") == "done":
            continue
        started = time.monotonic()
        try:
            part = phase(run, caller)
        # Catch every error: the memory is stored, and the run records the failed phase.
        except Exception as error:
            log.error(
                "ace_phase_failed", run_id=str(run.pk), phase=name, exc_info=error
            )
            _record_phase(run, name, _failed_phase(f"{type(error).__name__}: {error}"))
            return run
        _record_phase(run, name, _done_phase(started), part)
    _finish(run, caller)
    return run


@write
def _record_phase(
    run: AceRun, name: str, phase: dict[str, Any], part: Mapping[str, Any] | None = None
) -> None:
    """Store the status of a phase and its part of the result.

    Store nothing if another process has already stored the phase as done.
    """
    stored = AceRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    if stored.phases.get(name, {}).get("status") != "done":
        stored.phases[name] = phase
        stored.result |= part or {}
        stored.save(update_fields=["phases", "result"])
    run.phases, run.result = stored.phases, stored.result


def _failed_phase(reason: str) -> dict[str, Any]:
    # An error may quote a secret, or NUL, which PostgreSQL refuses in JSON.
    error = secrets.error_text(reason, 500)
    return {"status": "failed", "error": error, "at": timezone.now().isoformat()}


@write
def _finish(run: AceRun, caller: Caller) -> None:
    run.state = AceRun.RunState.DONE
    run.finished_at = timezone.now()
    # A task of a transcript is read with its session.
    if not run.task.is_prompt:
        due = reflections.ask_for_run(run, caller)
        run.result = {**run.result, "reflection": completed_run.mark_due(due)}
    run.save(update_fields=["state", "finished_at", "result"])
    # The waiting job would take over this run, but the run is finished.
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
    run: AceRun, caller: Caller, *, identity: idempotency.RequestIdentity | None = None
) -> AceRun:
    """Finish a run whose process died or whose phase failed.

    With an `identity`, a repeated request gets the same run and finishes it if
    necessary.
    """
    caller.require(Role.WRITER, run.project_id)
    _resume(run, identity)
    if run.state == AceRun.RunState.RUNNING:
        advance(run, caller_of(run))
    return run


@write
def _resume(run: AceRun, identity: idempotency.RequestIdentity | None) -> None:
    is_known = (
        identity is not None
        and idempotency.claim(identity, {"run_id": str(run.pk)}) is None
        and find_earlier(identity) is not None
    )
    if not _restart(run) and not is_known:
        raise errors.StateConflict("This run is finished; there is nothing to resume.")


@write
def _restart(run: AceRun, *, wait: bool = True) -> bool:
    """Set the run to running; return False if the run is already finished.

    Also enqueue a job that finishes the run if this request does not.
    """
    is_running = _mark_running(run)
    if is_running:
        _enqueue_takeover(run, wait=wait)
    return is_running


def _mark_running(run: AceRun) -> bool:
    """Set the run to running; return False if the run is already finished.

    If a purge has locked the run, this function waits. The purge marks the run as done
    and removes its texts.
    """
    unfinished = AceRun.objects.filter(pk=run.pk).exclude(state=AceRun.RunState.DONE)
    updated = unfinished.update(state=AceRun.RunState.RUNNING, finished_at=None)
    run.refresh_from_db()
    return bool(updated)


@runner.handler(KIND, attempts=ATTEMPTS)
def take_over(job_run: runner.JobRun) -> dict[str, Any]:
    """Finish a run in a worker, if the request did not finish it."""
    run = AceRun.objects.get(pk=job_run.job.args["run_id"])
    if not _mark_running(run):
        return {"by": "request"}
    if job_run.job.attempts >= ATTEMPTS:
        _record_crash(run)
    advance(run, caller_of(run))
    if run.state == AceRun.RunState.DONE:
        return {"by": "job"}
    raise job_errors.Later(_reason(run))


def _record_crash(run: AceRun) -> None:
    """Mark the run as failed before the last attempt.

    If this attempt kills the worker, nothing could mark the run afterwards.
    """
    status = {name: run.phases.get(name, {}).get("status") for name in PHASES}
    name = next((n for n in PHASES if status[n] != "done"), None)
    if name and status[name] != "failed":
        _record_phase(
            run, name, _failed_phase("The process died in this phase each time.")
        )
    unfinished = AceRun.objects.filter(pk=run.pk).exclude(state=AceRun.RunState.DONE)
    unfinished.update(state=AceRun.RunState.FAILED, finished_at=timezone.now())


def _reason(run: AceRun) -> str:
    phases = run.phases.values()
    return next((p["error"] for p in phases if p["status"] == "failed"), "")

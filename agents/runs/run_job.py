"""Run an agent in a worker: what a caller asked for with `Prefer: respond-async`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from agents.loop.events import RunFinished
from agents.models import AgentRun
from agents.runs.callers import caller_of
from agents.runs.execute import execute
from agents.runs.recorder import RunEnded, end_run, interrupt
from agents.steps import AgentCall
from common import errors
from common.caller import Caller, Role
from jobs import errors as job_errors
from jobs import queue, runner

KIND = "agent_run"


def run_later(
    run: AgentRun,
    *,
    allowed_call: AgentCall | None = None,
    forbidden_call: AgentCall | None = None,
) -> None:
    """Enqueue the job of a run that waits in the state `queued`."""
    calls = {"allowed": allowed_call, "forbidden": forbidden_call}
    args = {name: call.to_dict() for name, call in calls.items() if call}
    queue.enqueue(
        KIND,
        project_id=run.project_id,
        args={"run_id": str(run.pk), **args},
        key=str(run.pk),
    )


# A step is done by then: a turn of the model, a call of a tool, and what comes before them.
SILENCE = timedelta(minutes=15)


@runner.handler(KIND, attempts=2, silence=SILENCE)
def run_agent(job_run: runner.JobRun) -> dict[str, Any]:
    """Run a queued agent; one that a dead worker had begun is marked as interrupted.

    It is not begun again, because its tools may have acted.
    """
    rows = AgentRun.objects.select_related("project")
    run = rows.filter(pk=job_run.job.args["run_id"]).first()
    if run is None:
        return {"skipped": "the run was purged"}
    caller = caller_of(run)
    queued = AgentRun.objects.filter(pk=run.pk, status=AgentRun.RunStatus.QUEUED)
    if not queued.update(status=AgentRun.RunStatus.RUNNING, alive_at=timezone.now()):
        return _leave(run, job_run)
    run.status = AgentRun.RunStatus.RUNNING
    events = execute(
        run,
        caller,
        allowed_call=_call(job_run, "allowed"),
        forbidden_call=_call(job_run, "forbidden"),
    )
    try:
        for number, _ in enumerate(events, start=1):
            job_run.step(number)
    except job_errors.JobCancelled:
        events.close()  # type: ignore[attr-defined]  # a generator
        raise
    return {"status": run.status}


def _leave(run: AgentRun, job_run: runner.JobRun) -> dict[str, Any]:
    if run.status == AgentRun.RunStatus.RUNNING and job_run.job.attempts > 1:
        try:
            interrupt(run, caller_of(run))
        except RunEnded:
            run.refresh_from_db()
    return {"status": run.status}


def _call(job_run: runner.JobRun, name: str) -> AgentCall | None:
    value = job_run.job.args.get(name)
    return AgentCall(**value) if value else None


class RunHasEnded(errors.StateConflict):
    """The run has ended already."""

    code = "run_has_ended"


def cancel_run(run: AgentRun, caller: Caller) -> None:
    """End a run; a process that works on it stops when it records its next event."""
    caller.require(Role.WRITER, run.project_id)
    try:
        end_run(run, RunFinished(is_cancelled=True), caller_of(run))
    except RunEnded as error:
        raise RunHasEnded from error

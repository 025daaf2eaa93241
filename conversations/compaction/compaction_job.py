"""The automatic compaction of a session, and the compaction that a request asks for."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from common.caller import SYSTEM, Caller
from conversations.compaction import compaction_need
from conversations.compaction.compact import (
    CompactionMode,
    CompactionResult,
    CompactionRunning,
    IsEnough,
    compact,
)
from conversations.compaction.model_summarizer import SummarizerOff, summarizer_of
from conversations.models import Session
from conversations.sessions import writers
from jobs import errors as job_errors
from jobs import queue, runner
from jobs.models import Job

ON_REQUEST = "compact_session_on_request"


def compact_now(
    session: Session,
    mode: CompactionMode,
    caller: Caller,
    *,
    is_enough: IsEnough = lambda tokens: False,
    run: runner.JobRun | None = None,
) -> CompactionResult:
    """Compact a session with the project's summarizer."""
    writers.refuse_other(session, caller)
    summarizer = summarizer_of(session.project)
    step = (lambda: run.step(run.job.done + 1)) if run else (lambda: None)
    return compact(session, summarizer, mode, caller, is_enough=is_enough, step=step)


@runner.handler(compaction_need.KIND, attempts=20, silence=timedelta(minutes=5))
def compact_session(run: runner.JobRun) -> dict[str, Any]:
    """Compact a session until its context is below the target share of its budget.

    The job does not shrink a context more than needed.
    """
    session = _session_of(run)
    if session is None or not compaction_need.has_summarizer(session.project):
        return {"skipped": "the session is gone, or its project has no summarizer"}
    most = compaction_need.TARGET * compaction_need.budget_of(session.project, session)
    return _run(run, session, CompactionMode.FULL, lambda tokens: tokens <= most)


@runner.handler(ON_REQUEST, attempts=20, silence=timedelta(minutes=5))
def compact_on_request(run: runner.JobRun) -> dict[str, Any]:
    """Compact a session in the mode that a request named."""
    session = _session_of(run)
    if session is None:
        return {"skipped": "the session is gone"}
    return _run(
        run, session, CompactionMode(run.job.args["mode"]), lambda tokens: False
    )


def _session_of(run: runner.JobRun) -> Session | None:
    rows = Session.objects.select_related("project")
    session: Session | None = rows.filter(pk=run.job.args["session_id"]).first()
    return session


def _run(
    run: runner.JobRun, session: Session, mode: CompactionMode, is_enough: IsEnough
) -> dict[str, Any]:
    try:
        result = compact_now(session, mode, SYSTEM, is_enough=is_enough, run=run)
    except CompactionRunning as error:
        raise job_errors.Later(str(error)) from error
    return asdict(result)


def compact_in_job(session: Session, mode: CompactionMode, caller: Caller) -> Job:
    """Enqueue a compaction that a request asked for; return its job, or the one that waits.

    Refuse with 409 if the project has no summarizer.
    """
    writers.refuse_other(session, caller)
    if not compaction_need.has_summarizer(session.project):
        raise SummarizerOff
    return queue.enqueue_or_find(
        ON_REQUEST,
        project_id=session.project_id,
        args={"session_id": str(session.pk), "mode": str(mode)},
        key=f"{session.pk} {mode}",
    )

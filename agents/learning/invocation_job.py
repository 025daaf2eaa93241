"""The job at the end of an invocation: its summary, its facts, and its episode.

Each part is stored once for each run, so a worker may be killed anywhere: the next attempt
does what is missing.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from access.restored_caller import caller_of
from agents.learning import episode, facts_from_run, model_question, summary
from agents.models import AgentRun
from agents.run_texts import has_changed, question_of, result_of
from agents.tiers.fact_store import FactOwner, find_owner
from common import errors
from common.caller import Caller
from common.db import write
from common.text import secrets
from conversations.invocations.record import TooManyInvocations, append_invocation
from conversations.invocations.switch import MemoryOff, is_memory_on, require_memory
from conversations.models import Invocation, Session
from conversations.sessions.writers import OtherWriter
from inference.errors import InferenceError
from jobs import errors as job_errors
from jobs import queue, runner

KIND = "agent_invocation"
ATTEMPTS = 8
MAX_ERROR = 500  # characters of the error that a run shows
EMPTY: dict[str, Any] = {
    "invocation": None,
    "facts": [],
    "episode": None,
    "refused": {},
    "error": None,
}


def enqueue(run: AgentRun) -> None:
    """Let a worker learn from a run that has ended; call it in the transaction of the end."""
    queue.enqueue(
        KIND,
        project_id=run.project_id,
        args={"run_id": str(run.pk)},
        key=str(run.pk),
    )


@runner.handler(KIND, attempts=ATTEMPTS, silence=timedelta(minutes=10))
def learn_from_run(job: runner.JobRun) -> dict[str, Any]:
    """Store what a run taught, and write it to `AgentRun.learned`."""
    rows = AgentRun.objects.select_related("project")
    run = rows.filter(pk=job.job.args["run_id"]).first()
    if run is None or not run.has_memory or run.is_unfinished:
        return {"skipped": "the run is gone, goes on, or has no memory"}
    session = Session.objects.filter(pk=run.session_id).first()
    if not is_memory_on(run.project, run.user_id, session):
        return {"skipped": "memory is off"}
    try:
        return _learn(job, run, session)
    except MemoryOff:  # somebody has turned it off meanwhile
        return {"skipped": "memory is off"}
    except (errors.Forbidden, errors.NotFound) as refusal:
        _note(run, {"error": str(refusal)})
        raise job_errors.Permanent(str(refusal)) from refusal


def _learn(
    job: runner.JobRun, run: AgentRun, session: Session | None
) -> dict[str, Any]:
    caller = caller_of(run)
    owner = FactOwner.of(run.user_id, session)
    if session:
        _record_invocation(run, session, caller)
    job.step(1, 3)
    failure = _learn_facts(job, run, session, owner, caller)
    job.step(2)
    if episode.is_enabled(run):
        # Somebody may have purged the run, claimed the conversation or turned its memory off
        # while a model was asked.
        run.refresh_from_db(fields=["request", "steps", "answer", "learned"])
        owner = find_owner(run.user_id, session)
        require_memory(run.project, owner.user_id, session)
        made = episode.record_episode(run, owner.user_id, owner.session_key, caller)
        _note(run, {"episode": made})
    learned = _note(run, {"error": failure and failure.detail})
    if failure:
        raise job_errors.Permanent(f"language model: {failure.detail}") from failure
    return learned


def _record_invocation(run: AgentRun, session: Session, caller: Caller) -> None:
    """Append the run to its conversation; ask the model only if that is still to do."""
    known = Invocation.objects.filter(run_id=run.pk).first()
    try:
        row = known or _append(run, session, summary.summarize(run), caller)
    except (TooManyInvocations, OtherWriter) as refusal:
        _note(run, {"refused": {refusal.code: 1}})
        return
    _note(run, {"invocation": str(row.pk)})


@write
def _append(run: AgentRun, session: Session, said: str, caller: Caller) -> Invocation:
    """Append the run with its summary, or, if it was purged meanwhile, what is left of it."""
    locked = AgentRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    is_purged = has_changed(run, locked)
    return append_invocation(
        session,
        question_of(locked),
        summary.compose(locked) if is_purged else said,
        result_of(locked),
        caller,
        run_id=run.pk,
        at=run.ended_at,
        begun_at=run.created_at,
    )


def _learn_facts(
    job: runner.JobRun,
    run: AgentRun,
    session: Session | None,
    owner: FactOwner,
    caller: Caller,
) -> InferenceError | None:
    """Store the facts; return why there are none.

    A model that may answer later is asked again by the next attempt, before the episode.
    """
    if owner.scope is None or not facts_from_run.is_enabled(run):
        return None
    try:
        facts_from_run.learn_facts(run, session, caller)
    except InferenceError as error:
        is_last = job.job.attempts >= ATTEMPTS
        if model_question.may_answer_later(error) and not is_last:
            _note(run, {"error": error.detail})
            raise model_question.retry(error) from error
        return error
    if session:
        _mark_scanned(run, session)
    return None


def _mark_scanned(run: AgentRun, session: Session) -> None:
    """Spare the end of the conversation the scan of an invocation that follows the last."""
    row = Invocation.objects.filter(run_id=run.pk).first()
    if row:
        rows = Session.objects.filter(pk=session.pk, scanned_invocation=row.seq - 1)
        rows.update(scanned_invocation=row.seq)


@write
def _note(run: AgentRun, part: dict[str, Any]) -> dict[str, Any]:
    """Add a part to what the run taught; the facts are noted where they are stored."""
    locked = AgentRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    if part.get("error"):
        part = {**part, "error": secrets.error_text(part["error"], MAX_ERROR)}
    if "refused" in part:
        part = {"refused": {**locked.learned.get("refused", {}), **part["refused"]}}
    locked.learned = {**EMPTY, **locked.learned, **part}
    locked.save(update_fields=["learned"])
    run.learned = locked.learned
    return {name: locked.learned[name] for name in EMPTY}

"""Store what happens in a run, step by step, and how it ended."""

from __future__ import annotations

from typing import Any

import structlog
from django.db import OperationalError, transaction
from django.db.models import F
from django.utils import timezone

from agents.learning import invocation_job
from agents.loop.events import (
    AgentEvent,
    ConfirmationNeeded,
    RunFinished,
    StepDone,
    TokensSpent,
)
from agents.loop.run_errors import SENDER_REFUSED
from agents.models import AgentRun
from agents.recall.recalled_memory import RecalledMemory
from agents.run_texts import mask_said
from agents.runs.conversation import append_outcome, find_session
from common import errors
from common.caller import Caller
from common.db import write
from common.text import secrets
from conversations.invocations.switch import is_memory_on
from conversations.models import Session

log = structlog.get_logger(__name__)

MAX_ERROR = 2_000  # characters


class RunEnded(Exception):
    """Another process has ended the run; this one stops."""


class RunRecorder:
    """Writes one run's row; raises RunEnded if the run was ended elsewhere."""

    def __init__(self, run: AgentRun, caller: Caller) -> None:
        self.run = run
        self.caller = caller

    def note_memory(self, recalled: RecalledMemory) -> None:
        """Add what the run is given; a run that went on keeps what it was given before."""
        given, before = recalled.to_dict(), self.run.memory
        for tier in ("facts", "episodes", "entries", "invocations", "digest"):
            given[tier] = list(dict.fromkeys([*before.get(tier, ()), *given[tier]]))
        known = [each for each in (before.get("error"), given["error"]) if each]
        given["error"] = "; ".join(known) or None
        self._update(memory=given)

    def record(self, event: AgentEvent) -> None:
        """Store an event; pieces of text are only stored with their step or answer."""
        if isinstance(event, StepDone):
            step = mask_said(self.run.project, event.step.to_dict())
            self._update(steps=[*self.run.steps, step])
        elif isinstance(event, TokensSpent):
            self._add_tokens(event)
        elif isinstance(event, ConfirmationNeeded):
            self._update(
                status=AgentRun.RunStatus.CONFIRMING,
                pending_call=mask_said(self.run.project, event.call.to_dict()),
            )
        elif isinstance(event, RunFinished):
            end_run(self.run, event, self.caller)

    def _add_tokens(self, event: TokensSpent) -> None:
        self._update(
            prompt_tokens=F("prompt_tokens") + event.prompt,
            answer_tokens=F("answer_tokens") + event.answer,
            iterations=F("iterations") + 1,
        )
        self.run.refresh_from_db(
            fields=["prompt_tokens", "answer_tokens", "iterations"]
        )

    def _update(self, **columns: Any) -> None:
        rows = AgentRun.objects.filter(
            pk=self.run.pk, status=AgentRun.RunStatus.RUNNING
        )
        if not rows.update(alive_at=timezone.now(), **columns):
            raise RunEnded
        for name, value in columns.items():
            setattr(self.run, name, value)


@write
def end_run(run: AgentRun, end: RunFinished, caller: Caller) -> None:
    """Store how a run ended, once: its answer, its messages, and the job that learns from it.

    A run that is refused because its sender lost the rights writes no memory.
    """
    locked = AgentRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    if not locked.is_unfinished:
        raise RunEnded
    locked.project = run.project
    locked.status = _status_of(end)
    locked.answer = mask_said(run.project, end.answer or "")
    locked.error = _error_of(end)
    locked.pending_call = None
    locked.ended_at = timezone.now()
    locked.save(update_fields=["status", "answer", "error", "pending_call", "ended_at"])
    if locked.has_memory and not _is_refused(end):
        session = find_session(locked)
        if session and is_memory_on(locked.project, locked.user_id, session):
            _append_outcome(locked, session, caller)
        invocation_job.enqueue(locked)
    for name in ("status", "answer", "error", "pending_call", "ended_at", "memory"):
        setattr(run, name, getattr(locked, name))


def _append_outcome(run: AgentRun, session: Session, caller: Caller) -> None:
    """Store the messages of a run; a refusal, such as a quota, does not fail the answer.

    Neither does a fault that lasts: the run could never be ended.
    """
    try:
        with transaction.atomic():
            append_outcome(run, session, caller)
    except errors.Refusal as refusal:
        log.warning("agent_messages_refused", run_id=str(run.pk), code=refusal.code)
        _note_unstored(run, refusal.detail)
    except OperationalError:
        raise  # the database may be back, or another writer gone, at the next attempt
    except Exception as error:
        log.error("agent_messages_failed", run_id=str(run.pk), exc_info=error)
        _note_unstored(run, "they failed; the service's log says why.")


def _note_unstored(run: AgentRun, why: str) -> None:
    known = run.memory.get("error")
    said = f"The messages are not stored: {why}"
    run.memory = {**run.memory, "error": f"{known}; {said}" if known else said}
    run.save(update_fields=["memory"])


def interrupt(run: AgentRun, caller: Caller) -> None:
    """Mark a run as interrupted: its process is gone, its steps stay."""
    end_run(run, RunFinished(error=INTERRUPTION), caller)


INTERRUPTION = {
    "type": "interrupted",
    "message": "The process that ran the agent ended before the run did; ask again.",
}


def _is_refused(end: RunFinished) -> bool:
    return end.error is not None and end.error["type"] == SENDER_REFUSED


def _status_of(end: RunFinished) -> AgentRun.RunStatus:
    if end.error == INTERRUPTION:
        return AgentRun.RunStatus.INTERRUPTED
    if end.is_cancelled:
        return AgentRun.RunStatus.CANCELLED
    return AgentRun.RunStatus.FAILED if end.error else AgentRun.RunStatus.DONE


def _error_of(end: RunFinished) -> dict[str, str] | None:
    if end.error is None:
        return None
    return {
        "type": end.error["type"],
        "message": secrets.error_text(end.error["message"], MAX_ERROR),
    }

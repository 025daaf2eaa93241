"""Follow a run that another process works on, by its row."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from agents.loop import run_errors
from agents.loop.events import (
    ActionChosen,
    AgentEvent,
    ConfirmationNeeded,
    RunFinished,
    StepDone,
    TextPiece,
)
from agents.models import AgentRun
from agents.runs.background import KEEP_ALIVE
from agents.steps import AgentCall, AgentStep

POLL = 0.5  # seconds between two reads of the row
# Seconds after which a stream ends, because it holds a thread of the web server.
MAX_SECONDS = 600.0
Pause = Callable[[float], object]


def follow(run: AgentRun, pause: Pause | None = None) -> Iterator[AgentEvent | None]:
    """Yield the steps of a run as events, those that it has and those that come, and its end.

    Yield None after KEEP_ALIVE silent seconds. A run that waits for a confirmation ends the
    stream; whoever confirms follows it again. So does a reader after MAX_SECONDS.
    """
    pause = pause or threading.Event().wait
    sent, heard_at = 0, time.monotonic()
    until = heard_at + MAX_SECONDS
    while time.monotonic() < until:
        steps = [AgentStep.of_dict(each) for each in run.steps]
        for number in range(sent, len(steps)):
            yield from _step_events(run, number, steps[number])
            heard_at = time.monotonic()
        sent = len(steps)
        if last := _last_event(run):
            yield last
            return
        if time.monotonic() - heard_at >= KEEP_ALIVE:
            yield None
            heard_at = time.monotonic()
        pause(POLL)
        try:
            run.refresh_from_db()
        except AgentRun.DoesNotExist:
            yield RunFinished(error=run_errors.missing_run())
            return


def _step_events(run: AgentRun, number: int, step: AgentStep) -> Iterator[AgentEvent]:
    if step.is_history:
        return
    message_id = f"{run.pk}-{number}"
    if step.thought:
        yield TextPiece("thought", step.thought, message_id, is_last=True)
    yield ActionChosen(AgentCall(step.action, step.arguments), message_id)
    yield StepDone(step, message_id)


def _last_event(run: AgentRun) -> AgentEvent | None:
    """Return the event that ends the stream; None while the run goes on."""
    status = AgentRun.RunStatus
    if run.status in (status.QUEUED, status.RUNNING):
        return None
    if run.status == status.CONFIRMING and run.pending_call:
        return ConfirmationNeeded(AgentCall(**run.pending_call), f"{run.pk}-confirm")
    answer = run.answer if run.status == status.DONE else None
    return RunFinished(
        answer=answer, error=run.error, is_cancelled=run.status == status.CANCELLED
    )

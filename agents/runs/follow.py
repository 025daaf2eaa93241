"""Follow a run that another process works on, by its row."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import structlog
from asgiref.sync import sync_to_async
from django.db import InterfaceError, OperationalError, connection
from django.db.models import Func, IntegerField

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

log = structlog.get_logger(__name__)

POLL = 0.5  # seconds between two looks at the row
# Seconds after which a stream ends: its key may have been revoked meanwhile.
MAX_SECONDS = 600.0
STEP_COUNT = Func("steps", function="jsonb_array_length", output_field=IntegerField())
Pause = Callable[[float], Awaitable[object]]


async def follow(
    run: AgentRun, pause: Pause = asyncio.sleep
) -> AsyncIterator[AgentEvent | None]:
    """Yield the steps of a run as events, those that it has and those that come, and its end.

    Yield None after KEEP_ALIVE silent seconds. A run that waits for a confirmation ends the
    stream; whoever confirms follows it again. So does a reader after MAX_SECONDS. All streams
    of a process look at their rows in one thread.
    """
    sent, heard_at = 0, time.monotonic()
    until = heard_at + MAX_SECONDS
    while time.monotonic() < until:
        steps = [AgentStep.of_dict(each) for each in run.steps]
        for number in range(sent, len(steps)):
            for event in _step_events(run, number, steps[number]):
                yield event
            heard_at = time.monotonic()
        sent = len(steps)
        if last := _last_event(run):
            yield last
            return
        if time.monotonic() - heard_at >= KEEP_ALIVE:
            yield None
            heard_at = time.monotonic()
        await pause(POLL)
        try:
            await sync_to_async(_read_news)(run)
        except AgentRun.DoesNotExist:
            yield RunFinished(error=run_errors.missing_run())
            return


def _read_news(run: AgentRun) -> None:
    """Read the row again if it has changed: its steps can be long."""
    known = run.status, len(run.steps)
    rows = AgentRun.objects.annotate(count=STEP_COUNT)
    try:
        if rows.values_list("status", "count").get(pk=run.pk) != known:
            run.refresh_from_db()
    except (InterfaceError, OperationalError) as error:
        log.warning("stream_not_read", run_id=str(run.pk), error=str(error))
        connection.close()  # the next look opens another one


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

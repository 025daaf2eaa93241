"""Run the loop of a stored run, and record each event before it is passed on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import structlog

from access.restored_caller import SenderRightsLost
from agents.loop import run_errors
from agents.loop.events import AgentEvent, RunFinished
from agents.loop.react import LoopInput, run_loop
from agents.loop.run_errors import AGENT_ERROR
from agents.models import AgentRun
from agents.recall.recall import recall
from agents.recall.recalled_memory import RecalledMemory
from agents.runs import heartbeat
from agents.runs.agent_request import AgentRequest
from agents.runs.callers import require_sender
from agents.runs.conversation import find_session
from agents.runs.recorder import RunEnded, RunRecorder, end_run
from agents.steps import AgentCall, AgentStep
from agents.tools.choose import choose_tools
from agents.tools.tool import ToolContext
from common.caller import Caller
from conversations.invocations.switch import is_memory_on
from conversations.models import Session
from projects import model_access

log = structlog.get_logger(__name__)

ShouldStop = Callable[[], bool]


def execute(
    run: AgentRun,
    caller: Caller,
    *,
    should_stop: ShouldStop = lambda: False,
    allowed_call: AgentCall | None = None,
    forbidden_call: AgentCall | None = None,
) -> Iterator[AgentEvent]:
    """Yield the events of a run until it ended or waits for a confirmation.

    Whatever happens, the run is recorded as ended, unless its process dies: then
    `interrupted` marks it.
    """
    recorder = RunRecorder(run, caller)
    try:
        with heartbeat.beat(run):
            require_sender(run, caller)
            given = _loop_input(
                run, caller, recorder, should_stop, allowed_call, forbidden_call
            )
            for event in run_loop(given):
                recorder.record(event)
                yield event
    except GeneratorExit:
        _end(run, RunFinished(is_cancelled=True), caller)
        raise
    except SenderRightsLost as refusal:
        log.warning("agent_run_refused", run_id=str(run.pk))
        end = RunFinished(error=run_errors.sender_refusal(str(refusal)))
        _end(run, end, caller)
        yield end
    except RunEnded:
        log.info("agent_run_ended_elsewhere", run_id=str(run.pk))
        run.refresh_from_db()
        yield RunFinished(
            error=run.error, is_cancelled=run.status == AgentRun.RunStatus.CANCELLED
        )
    # The run must not stay without an end, whatever failed.
    except Exception as error:
        log.error("agent_run_failed", run_id=str(run.pk), exc_info=error)
        message = "The agent failed; the service's log says why. Ask again."
        end = RunFinished(error={"type": AGENT_ERROR, "message": message})
        _end(run, end, caller)
        yield end


def _end(run: AgentRun, end: RunFinished, caller: Caller) -> None:
    try:
        end_run(run, end, caller)
    except RunEnded:
        log.info("agent_run_ended_elsewhere", run_id=str(run.pk))


def _loop_input(
    run: AgentRun,
    caller: Caller,
    recorder: RunRecorder,
    should_stop: ShouldStop,
    allowed_call: AgentCall | None,
    forbidden_call: AgentCall | None,
) -> LoopInput:
    project, options = run.project, run.project.options.agents
    request = AgentRequest.of_dict(run.request)
    session = find_session(run)
    # It may have been turned off while the run waited for a person.
    has_memory = run.has_memory and is_memory_on(project, run.user_id, session)
    recalled = RecalledMemory()
    if has_memory:
        recalled = _recall(run, request, session, caller)
    recorder.note_memory(recalled)
    return LoopInput(
        project=project,
        question=request.question,
        recalled=recalled,
        tools=choose_tools(
            project,
            caller,
            group=request.group,
            state=request.state,
            has_memory=has_memory,
            session=session,
        ),
        tool_context=ToolContext(
            project=project,
            caller=caller,
            user_id=run.user_id,
            run_id=run.pk,
            session=session if has_memory else None,
            has_memory=has_memory,
        ),
        history=tuple(AgentStep.of_dict(step) for step in run.steps),
        options=options,
        max_iterations=request.max_iterations or options.max_iterations,
        budget=model_access.account_for(project, run.pk),
        has_streaming=request.streaming,
        should_stop=should_stop,
        allowed_call=allowed_call,
        forbidden_call=forbidden_call,
        deadline=time.monotonic() + options.max_seconds,
    )


def _recall(
    run: AgentRun, request: AgentRequest, session: Session | None, caller: Caller
) -> RecalledMemory:
    return recall(
        run.project,
        caller,
        question=request.question,
        state=request.state,
        user=run.user_id,
        session=session,
    )

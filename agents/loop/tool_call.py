"""Call a tool of a run; whatever becomes of the call is an observation."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from agents.steps import PARSE_ERROR, AgentCall, AgentStep
from agents.tools.tool import MAX_OBSERVATION, Tool, ToolContext, ToolFailure
from inference.json_text import make_storable
from inference.language.fence import keep_ends

log = structlog.get_logger(__name__)

FORBIDDEN = "Error: a person did not allow this call."
SECRET = (
    "Error: a person has to allow this call, and a secret in its arguments is not kept until "
    "then. Call it without the secret; the operator can set one for the headers of the tool."
)


@dataclass(frozen=True)
class CallResult:
    text: str
    is_error: bool = False


def call_tool(
    call: AgentCall, tools: Mapping[str, Tool], context: ToolContext
) -> AgentStep:
    """Return the step of a call; a tool that fails or is unknown makes an error of it."""
    started = time.monotonic()
    tool = tools.get(call.action)
    if tool is None:
        answer = CallResult(f"No action for {call.action}!", is_error=True)
    else:
        answer = _observe(tool, call, context)
    took = round((time.monotonic() - started) * 1000)
    return _step_of(call, answer, took)


def _observe(tool: Tool, call: AgentCall, context: ToolContext) -> CallResult:
    try:
        return CallResult(tool.call(call.arguments, context))
    except ToolFailure as failure:
        return CallResult(f"Error: {failure}", is_error=True)
    except Exception as error:
        # A fault of the tool's own code must not cost the run its answer.
        log.exception("agent_tool_failed", tool=call.action)
        detail = f"Error: {call.action} failed ({type(error).__name__})."
        return CallResult(detail, is_error=True)


def forbid_call(call: AgentCall) -> AgentStep:
    return _step_of(call, CallResult(FORBIDDEN, is_error=True), 0)


def refuse_secret(call: AgentCall) -> AgentStep:
    return _step_of(call, CallResult(SECRET, is_error=True), 0)


def parse_error(reason: str, thought: str) -> AgentStep:
    """Return the step of an answer that cannot be read."""
    answer = CallResult(f"Error: LLM parse error: {reason}", is_error=True)
    return _step_of(AgentCall(PARSE_ERROR, thought=thought), answer, 0)


def _step_of(call: AgentCall, answer: CallResult, took_ms: int) -> AgentStep:
    return AgentStep(
        thought=call.thought,
        action=call.action,
        arguments=call.arguments,
        observation=make_storable(keep_ends(answer.text, MAX_OBSERVATION)),
        is_error=answer.is_error,
        call_id=call.call_id,
        took_ms=took_ms,
    )

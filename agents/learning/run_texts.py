"""What a run says: the question, its own steps, and how it ended."""

from __future__ import annotations

from agents.models import AgentRun
from agents.steps import PARSE_ERROR, AgentStep
from conversations.stores.tool import NAME as SESSION_TOOL

# These tools read memory and write it: their answers teach nothing new.
MEMORY_TOOLS = frozenset({"RetrieveFacts", "RecallEpisodes", "StoreFact", SESSION_TOOL})


def question_of(run: AgentRun) -> str:
    return str(run.request.get("question") or "")


def calls_of(run: AgentRun) -> list[AgentStep]:
    """Return the calls of tools that the run made itself, in order.

    Steps that the caller sent as history are left out, and answers that were no call.
    """
    steps = map(AgentStep.of_dict, run.steps)
    return [
        step for step in steps if not step.is_history and step.action != PARSE_ERROR
    ]


def result_of(run: AgentRun) -> str:
    """Return the answer, or in what way the run ended without one."""
    if run.answer:
        return run.answer
    error = (run.error or {}).get("message")
    return f"{run.status}: {error}" if error else run.status

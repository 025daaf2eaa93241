"""What a run says: the question, its own steps, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.models import AgentRun
from agents.steps import PARSE_ERROR, AgentStep
from conversations.stores.tool import NAME as SESSION_TOOL
from memories.models import Memory
from projects import secret_policy
from projects.models import Project

USER, TOOL = Memory.Source.USER.value, Memory.Source.TOOL.value

# These tools read memory and write it: their answers teach nothing new.
MEMORY_TOOLS = frozenset({"RetrieveFacts", "RecallEpisodes", "StoreFact", SESSION_TOOL})


@dataclass(frozen=True)
class SourceText:
    """A text that can prove a fact, and whose words it has: `user` or `tool`."""

    name: str
    text: str
    source: str


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


def mask_said(project: Project, said: Any) -> Any:
    """Mask the secrets of what a run said; none is refused, because the run goes on."""
    mode = project.options.secrets
    return secret_policy.guard("mask" if mode == "reject" else mode, said)[0]


def has_changed(run: AgentRun, now: AgentRun) -> bool:
    """Whether a purge has changed the texts of a run that was read before, as `run`."""
    return (run.request, run.steps, run.answer) != (now.request, now.steps, now.answer)


def result_of(run: AgentRun) -> str:
    """Return the answer, or in what way the run ended without one."""
    if run.answer:
        return run.answer
    error = (run.error or {}).get("message")
    return f"{run.status}: {error}" if error else run.status


def source_texts(run: AgentRun) -> list[SourceText]:
    """Return the user's question and the results of tools, which other texts do not prove.

    What memory tools answer is known already, and errors are no facts.
    """
    results = [
        SourceText(f"result {number} of {step.action}", step.observation, TOOL)
        for number, step in enumerate(calls_of(run), start=1)
        if step.action not in MEMORY_TOOLS and not step.is_error
    ]
    return [SourceText("the user's words", question_of(run), USER), *results]

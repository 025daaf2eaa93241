"""Measure the tokens of an agent's prompts as its steps and its conversation grow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agents.prompt.build import PromptInput, build_prompt
from agents.recall.recall import read_memory
from agents.recall.recalled_memory import RecalledMemory
from agents.steps import AgentStep
from agents.working_memory import WorkingMemory
from common.caller import SYSTEM
from conversations.models import Session
from projects.models import Project

STEPS = 100
# The numbers of steps and of invocations that the table shows.
SHOWN = (1, 5, 10, 25, 50, 100)
PASSAGES = 4  # that each observation has: about 1,200 characters
QUESTION = "Which of these files is read first?"


def measure(
    project: Project, session: Session, passages: Sequence[str]
) -> dict[str, Any]:
    """Return the tokens of the prompts of 100 steps, and of as many invocations as there are."""
    recalled = read_memory(project, SYSTEM, question=QUESTION, session=session)
    return {
        "prompt_tokens": _by_steps(project, recalled, passages),
        "prompt_tokens_by_invocations": _by_invocations(project, session),
        "token_budget": project.options.agents.token_budget,
    }


def _by_steps(
    project: Project, recalled: RecalledMemory, passages: Sequence[str]
) -> list[int]:
    memory = WorkingMemory()
    tokens = []
    for number in range(STEPS):
        start = number * PASSAGES % (len(passages) - PASSAGES)
        memory.append(
            AgentStep(
                thought=f"Look at file {number}",
                action="read_file",
                arguments={"path": f"part_{number}/file.py"},
                observation="\n".join(passages[start : start + PASSAGES]),
            )
        )
        memory.condense(project.options.agents)
        tokens.append(_count(project, recalled, memory))
    return tokens


def _by_invocations(project: Project, session: Session) -> list[int]:
    """Return the tokens with the first invocation, with the first two, and so on."""
    recalled = read_memory(project, SYSTEM, question=QUESTION, session=session)
    invocations = recalled.invocations
    return [
        _count(
            project,
            replace(recalled, invocations=invocations[: number + 1]),
            WorkingMemory(),
        )
        for number in range(len(invocations))
    ]


def _count(project: Project, recalled: RecalledMemory, memory: WorkingMemory) -> int:
    options = project.options.agents
    built = build_prompt(
        PromptInput(
            question=QUESTION,
            recalled=recalled,
            working=memory,
            tools=(),
            protocol=options.protocol,
            additional_context=options.additional_context,
            token_budget=options.token_budget,
        )
    )
    return built.tokens


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, title in (
        ("prompt_tokens", "steps"),
        ("prompt_tokens_by_invocations", "invocations"),
    ):
        for number in SHOWN:
            if number <= len(result[name]):
                yield [
                    f"prompt after {number} {title}",
                    f"{result[name][number - 1]:,}",
                    "",
                ]

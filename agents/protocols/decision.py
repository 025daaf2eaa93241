"""What a model decided in one turn."""

from __future__ import annotations

from dataclasses import dataclass

from agents.steps import AgentCall


class UnreadableAnswer(ValueError):
    """The model's text is neither a call nor an answer; the message says why."""


@dataclass(frozen=True)
class ModelDecision:
    """A call, or a final answer with the thought before it."""

    thought: str = ""
    call: AgentCall | None = None
    answer: str | None = None

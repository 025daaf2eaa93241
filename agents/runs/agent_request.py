"""The request of one invocation (seed 004, AgentRequest)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.steps import AgentStep

MAX_QUESTION = 20_000  # characters
MAX_HISTORY = 100  # steps
DEFAULT_GROUP = ("default",)


@dataclass(frozen=True)
class AgentRequest:
    """What a caller asks of the agent; None of `max_iterations` is the project's setting."""

    question: str
    state: str = ""
    group: tuple[str, ...] = DEFAULT_GROUP
    history: tuple[AgentStep, ...] = ()
    user: str = ""
    conversation_id: str = ""
    enable_memory: bool = False
    streaming: bool = False
    max_iterations: int | None = None
    # Whether the caller says that the invocation is a task, which becomes an episode.
    task: bool = False

    @classmethod
    def of_dict(cls, value: Mapping[str, Any]) -> AgentRequest:
        """Read the request as a run stores it."""
        fields = dict(value)
        history = tuple(AgentStep.of_dict(step) for step in fields.pop("history", ()))
        group = tuple(fields.pop("group", DEFAULT_GROUP))
        return cls(history=history, group=group, **fields)

    def to_dict(self) -> dict[str, Any]:
        """Return the request as a run stores it; the steps stand in the run."""
        return {
            "question": self.question,
            "state": self.state,
            "group": list(self.group),
            "user": self.user,
            "conversation_id": self.conversation_id,
            "enable_memory": self.enable_memory,
            "streaming": self.streaming,
            "max_iterations": self.max_iterations,
            "task": self.task,
        }

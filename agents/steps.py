"""A step of a run: a thought, a call of a tool, and what it answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PARSE_ERROR = "__parse_error__"  # the action of an answer that cannot be read


@dataclass(frozen=True)
class AgentCall:
    """What a model wants to do; `call_id` is the endpoint's own id of the call, if any."""

    action: str
    arguments: dict[str, Any] = field(default_factory=dict)
    thought: str = ""
    call_id: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "action": self.action,
            "arguments": self.arguments,
            "thought": self.thought,
            "call_id": self.call_id,
        }


@dataclass(frozen=True)
class AgentStep:
    """A call and its observation; `is_error` if the tool failed."""

    thought: str
    action: str
    arguments: dict[str, Any]
    observation: str
    is_error: bool = False
    # Whether the caller sent the step as `history`.
    is_history: bool = False
    call_id: str = ""
    took_ms: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "thought": self.thought,
            "action": self.action,
            "arguments": self.arguments,
            "observation": self.observation,
            "is_error": self.is_error,
            "is_history": self.is_history,
            "call_id": self.call_id,
            "took_ms": self.took_ms,
        }

    @classmethod
    def of_dict(cls, value: dict[str, Any]) -> AgentStep:
        return cls(**value)

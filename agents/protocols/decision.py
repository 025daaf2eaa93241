"""What a model decided in one turn, and what reads it from the pieces of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agents.steps import AgentCall
from inference.language.chat_pieces import ChatPiece

THOUGHT, ANSWER = "thought", "answer"


class UnreadableAnswer(ValueError):
    """The model's text is neither a call nor an answer; the message says why."""


@dataclass(frozen=True)
class ModelDecision:
    """A call, or a final answer with the thought before it."""

    thought: str = ""
    call: AgentCall | None = None
    answer: str | None = None


@dataclass(frozen=True)
class SpokenPiece:
    """A piece of a thought or of an answer; `kind` is THOUGHT or ANSWER."""

    kind: str
    text: str


class DecisionReader(Protocol):
    """Reads one answer of a model, piece by piece.

    The pieces of one kind, joined, are the thought or the answer of the decision.
    """

    @property
    def is_decided(self) -> bool:
        """Whether the rest of the answer is dropped, whatever it is."""
        ...

    @property
    def thought_text(self) -> str:
        """The thought so far."""
        ...

    def read(self, piece: ChatPiece) -> Sequence[SpokenPiece]: ...

    def finish(self) -> Sequence[SpokenPiece]:
        """Return what was held back; the answer has ended."""
        ...

    def decide(self) -> ModelDecision:
        """Return the decision after `finish`; raise UnreadableAnswer."""
        ...

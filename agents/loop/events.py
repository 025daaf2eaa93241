"""What a run says while it goes on; a stream sends it, and a recorder stores it."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.steps import AgentCall, AgentStep


@dataclass(frozen=True)
class TextPiece:
    """A piece of a thought or of the answer, as the model streams it."""

    kind: str  # `thought` or `answer`
    text: str
    message_id: str
    is_last: bool = False


@dataclass(frozen=True)
class ActionChosen:
    """The model calls a tool."""

    call: AgentCall
    message_id: str


@dataclass(frozen=True)
class StepDone:
    """A tool has answered; the step is complete."""

    step: AgentStep
    message_id: str


@dataclass(frozen=True)
class ConfirmationNeeded:
    """The run stops until a person allows or forbids the call."""

    call: AgentCall
    message_id: str


@dataclass(frozen=True)
class TokensSpent:
    """The tokens of one call of the model."""

    prompt: int
    answer: int


@dataclass(frozen=True)
class RunFinished:
    """The run ended with an answer, an error (`type`, `message`), or because it was stopped."""

    answer: str | None = None
    error: dict[str, str] | None = None
    is_cancelled: bool = False
    steps: tuple[AgentStep, ...] = field(default_factory=tuple)


AgentEvent = (
    TextPiece | ActionChosen | StepDone | ConfirmationNeeded | TokensSpent | RunFinished
)

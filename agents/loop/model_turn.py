"""Ask the model for the next step, and read what it decides while it speaks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing

from agents.loop.functions import describe_functions
from agents.prompt import templates
from agents.prompt.build import BuiltPrompt
from agents.protocols.decision import (
    DecisionReader,
    ModelDecision,
    SpokenPiece,
    UnreadableAnswer,
)
from agents.protocols.function_calls import FunctionCallReader, FunctionNames
from agents.protocols.text import STOP_WORDS, TextReader
from agents.tools.tool import Tool
from inference.errors import Usage
from inference.language import prompts
from inference.language.budget import DailyBudget
from inference.language.chat import ChatQuestion, ChatTurn
from inference.language.chat_pieces import CUT_OFF, ChatEnd, ChatPiece, ChatText
from projects.options import AgentSettings

PURPOSE = "agent"
MAX_TOKENS = 4_000  # of one answer
# The characters after a decision that are read and dropped. A model that ends there counts
# its tokens; one that goes on is left.
MAX_DROPPED = 400
# The characters of one answer that are read, whatever the server takes for a token.
MAX_ANSWER = 100_000


class TurnStopped(Exception):
    """The run was stopped while the model spoke."""


class ModelTurn:
    """One answer of the model to one prompt."""

    def __init__(
        self,
        prompt: BuiltPrompt,
        *,
        options: AgentSettings,
        tools: Sequence[Tool],
        budget: DailyBudget,
        deadline: float,
        should_stop: Callable[[], bool],
    ) -> None:
        self._should_stop = should_stop
        self._is_cut = False
        self._size = self._dropped = (
            0  # characters of the answer; those after its decision
        )
        self._reader: DecisionReader = TextReader()
        calling: dict[str, Sequence[Mapping[str, object]]] = {}
        if options.protocol == "tools":
            names = FunctionNames([tool.name for tool in tools])
            self._reader = FunctionCallReader(names)
            calling["functions"] = describe_functions(tools)
        question = ChatQuestion(
            PURPOSE,
            _version(options),
            prompt.messages,
            MAX_TOKENS,
            deadline,
            stop=() if calling else STOP_WORDS,
            **calling,
        )
        self._chat = ChatTurn(question, budget)

    @property
    def usage(self) -> Usage:
        return self._chat.usage

    @property
    def thought_text(self) -> str:
        return self._reader.thought_text

    def pieces(self) -> Iterator[SpokenPiece]:
        """Yield what the model says, up to its decision.

        Raises InferenceError, and TurnStopped between two pieces.
        """
        with closing(self._chat.pieces()) as pieces:
            for piece in pieces:
                if self._should_stop():
                    raise TurnStopped
                yield from self._read(piece)
                if self._is_enough(piece):
                    break
        yield from self._reader.finish()

    def _read(self, piece: ChatPiece) -> Sequence[SpokenPiece]:
        if isinstance(piece, ChatEnd):
            self._is_cut = piece.reason == CUT_OFF and not self._reader.is_decided
        return self._reader.read(piece)

    def _is_enough(self, piece: ChatPiece) -> bool:
        """Return whether the rest of the answer makes no difference, or is too much."""
        self._size += _size_of(piece)
        if self._reader.is_decided:
            self._dropped += _size_of(piece)
            return self._dropped > MAX_DROPPED
        self._is_cut = self._is_cut or self._size > MAX_ANSWER
        return self._size > MAX_ANSWER

    def decide(self) -> ModelDecision:
        """Return the decision; raise UnreadableAnswer."""
        if self._is_cut:
            raise UnreadableAnswer(
                "the answer was cut off, because it is too long; write a shorter one, of"
                f" at most {MAX_TOKENS:,} tokens."
            )
        return self._reader.decide()


def _size_of(piece: ChatPiece) -> int:
    if isinstance(piece, ChatEnd):
        return 0
    text = piece.text if isinstance(piece, ChatText) else piece.name + piece.arguments
    return len(text)


def _version(options: AgentSettings) -> str:
    """Return the version of the system template, for the record of the call."""
    if own := options.templates.get("system"):
        return f"project-{hashlib.sha256(own.encode()).hexdigest()[:12]}"
    return prompts.read(templates.FOLDER / "system.txt").version

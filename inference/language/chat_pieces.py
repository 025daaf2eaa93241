"""What a chat asks a model, and the pieces of its answer as they arrive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inference.errors import Usage

CUT_OFF = "length"  # the reason of an answer that reached `max_tokens`


@dataclass(frozen=True)
class ChatRequest:
    """Messages and functions in the form of OpenAI's chat completions API."""

    messages: Sequence[Mapping[str, Any]]
    max_tokens: int
    functions: Sequence[Mapping[str, Any]] = ()
    # Words at which the model stops; at most four, as hosted endpoints take no more.
    stop: Sequence[str] = ()


@dataclass(frozen=True)
class ChatText:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True)
class FunctionCallPiece:
    """A piece of a call: the id and the name come once, the arguments (JSON) in pieces."""

    index: int
    call_id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True)
class ChatEnd:
    """The answer is complete; `usage` is None if the server does not count tokens."""

    reason: str = "stop"
    usage: Usage | None = None


ChatPiece = ChatText | FunctionCallPiece | ChatEnd

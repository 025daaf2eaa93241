"""The language model of the tests: it gives scripted answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from inference.errors import ProviderDown, Usage
from inference.language import language_model
from inference.language.chat_pieces import (
    ChatEnd,
    ChatPiece,
    ChatRequest,
    ChatText,
    FunctionCallPiece,
)
from inference.language.language_model import Completion, LanguageModel

ScriptedAnswer = dict[str, Any] | Completion | Exception


@dataclass(frozen=True)
class Call:
    system: str
    prompt: str
    schema: dict[str, Any]
    max_tokens: int
    timeout: float | None = None


@dataclass(frozen=True)
class ScriptedChat:
    """An answer of a chat: a text, calls of functions (name, arguments), or both.

    Texts and arguments come in pieces of `piece_size` characters. An `error` comes after
    the pieces, in the place of the end.
    """

    text: str = ""
    calls: Sequence[tuple[str, dict[str, Any]]] = ()
    piece_size: int = 16
    reason: str = "stop"
    usage: Usage | None = None
    error: Exception | None = None

    def pieces(self) -> Iterator[ChatPiece]:
        for piece in _cut(self.text, self.piece_size):
            yield ChatText(piece)
        for index, (name, arguments) in enumerate(self.calls):
            yield FunctionCallPiece(index, f"call-{index}", name)
            for piece in _cut(json.dumps(arguments), self.piece_size):
                yield FunctionCallPiece(index, arguments=piece)
        if self.error:
            raise self.error
        yield ChatEnd(self.reason, self.usage)


ScriptedTurn = str | ScriptedChat | Exception
# What answers a chat: the turns in order, or a function of the request.
Respond = Callable[[ChatRequest], ScriptedTurn]

_answers: list[ScriptedAnswer] = []
_calls: list[Call] = []
_turns: list[ScriptedTurn | Respond] = []
_chats: list[ChatRequest] = []


def _cut(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


class FakeLanguage(LanguageModel):
    """Give the scripted answers in turn; when none is left, fail as ProviderDown."""

    name = "fake"

    def complete_json(
        self,
        *,
        system: str,
        prompt: str,
        schema: dict[str, Any],
        max_tokens: int,
        timeout: float | None = None,
    ) -> Completion:
        _calls.append(Call(system, prompt, schema, max_tokens, timeout))
        answer = _answers.pop(0) if _answers else ProviderDown()
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Completion) else Completion(answer)

    def chat(
        self, request: ChatRequest, *, timeout: float
    ) -> Generator[ChatPiece, None, None]:
        _chats.append(request)
        turn = _turns.pop(0) if _turns else ProviderDown()
        if callable(turn):
            turn = turn(request)
        if isinstance(turn, Exception):
            raise turn
        scripted = ScriptedChat(turn) if isinstance(turn, str) else turn
        yield from scripted.pieces()


@contextmanager
def script_answers(*answers: ScriptedAnswer) -> Iterator[list[Call]]:
    """Give these answers or raise these errors; yield the calls as they are made."""
    _answers[:], _calls[:] = answers, []
    _wake()
    try:
        yield _calls
    finally:
        _answers.clear()


@contextmanager
def script_chat(*turns: ScriptedTurn | Respond) -> Iterator[list[ChatRequest]]:
    """Give these turns of a chat, or raise these errors; yield the requests as they come."""
    _turns[:], _chats[:] = turns, []
    _wake()
    try:
        yield _chats
    finally:
        _turns.clear()


def _wake() -> None:
    if model := language_model.from_settings():
        model.failures, model.rests_until = 0, 0.0

"""Chat with a language model, within limits; the answer comes in pieces.

Every call is recorded, as `client` records it. Never use this inside a transaction.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.conf import settings

from inference import tokens
from inference.errors import InferenceError, Usage
from inference.language import attempts
from inference.language.attempts import Attempts
from inference.language.budget import DailyBudget
from inference.language.chat_pieces import (
    ChatEnd,
    ChatPiece,
    ChatRequest,
    ChatText,
    FunctionCallPiece,
)


@dataclass(frozen=True)
class ChatQuestion:
    """One turn of a chat; `version` identifies the text of the prompt's template.

    `deadline` is the moment of `time.monotonic()` at which the whole turn must be done. A
    turn takes at most LANGUAGE_TIMEOUT seconds, whatever the deadline.
    """

    purpose: str
    version: str
    messages: Sequence[Mapping[str, Any]]
    max_tokens: int
    deadline: float
    functions: Sequence[Mapping[str, Any]] = ()
    stop: Sequence[str] = ()

    @property
    def request(self) -> ChatRequest:
        return ChatRequest(self.messages, self.max_tokens, self.functions, self.stop)


class ChatTurn:
    """The answer to one question of a chat: iterate over its pieces once.

    A failed call is repeated as `attempts` says, but only before the first piece.
    """

    def __init__(self, question: ChatQuestion, daily_budget: DailyBudget) -> None:
        self.question = question
        self.daily_budget = daily_budget
        # The tokens of all calls so far, as the server or an estimate counts them.
        self.usage = Usage(0, 0)

    def pieces(self) -> Generator[ChatPiece, None, None]:
        """Yield the pieces of the answer; the last one is a ChatEnd with its usage.

        Raises InferenceError, also between two pieces. Closing the iterator stops the
        model; the call then counts with what has arrived.
        """
        tries = self._attempts()
        try:
            yield from self._pieces_of_tries(tries)
        except InferenceError as error:
            tries.note_failure(error)
            raise
        tries.note_success()

    def _attempts(self) -> Attempts:
        within = time.monotonic() + float(settings.LANGUAGE_TIMEOUT)
        return Attempts(
            attempts.model_to_ask(),
            purpose=self.question.purpose,
            version=self.question.version,
            daily_budget=self.daily_budget,
            deadline=min(within, self.question.deadline),
        )

    def _pieces_of_tries(self, tries: Attempts) -> Iterator[ChatPiece]:
        while True:
            call = _ChatCall(self, tries)
            try:
                yield from call.pieces()
                return
            except InferenceError as error:
                if call.text or not tries.wait_after(error):
                    raise

    @cached_property
    def prompt_tokens(self) -> int:
        """An estimate; the names and signs of the request's JSON count as well."""
        return sum(
            tokens.estimate(json.dumps(each, ensure_ascii=False))
            for each in (*self.question.messages, *self.question.functions)
        )


class _ChatCall:
    """One call of the model, recorded however it ends."""

    def __init__(self, turn: ChatTurn, tries: Attempts) -> None:
        self.turn = turn
        self.tries = tries
        self.text: list[str] = []  # what has arrived

    def pieces(self) -> Iterator[ChatPiece]:
        largest = Usage(self.turn.prompt_tokens, self.turn.question.max_tokens)
        started = self.tries.begin(largest)
        usage, failure = None, None
        try:
            for piece in self.model_pieces(started):
                if isinstance(piece, ChatEnd):
                    usage = piece.usage or self.estimate
                    yield ChatEnd(piece.reason, usage)
                else:
                    self.text.append(_text_of(piece))
                    yield piece
        except InferenceError as error:
            failure = error
            raise
        finally:
            self.record(started, usage or self.usage_after(failure), failure)

    def model_pieces(self, started: float) -> Iterator[ChatPiece]:
        model, request = self.tries.model, self.turn.question.request
        pieces = model.chat(request, timeout=self.tries.deadline - started)
        with closing(pieces):
            yield from pieces

    @property
    def estimate(self) -> Usage:
        answer = tokens.estimate("".join(self.text))
        return Usage(self.turn.prompt_tokens, answer)

    def usage_after(self, failure: InferenceError | None) -> Usage:
        """Return the usage of a call that failed, or that its reader closed."""
        if failure is None or self.text:
            return self.estimate
        return attempts.failed_usage(failure, self.turn.prompt_tokens)

    def record(
        self, started: float, usage: Usage, failure: InferenceError | None
    ) -> None:
        before = self.turn.usage
        self.turn.usage = Usage(
            before.prompt_tokens + usage.prompt_tokens,
            before.answer_tokens + usage.answer_tokens,
        )
        self.tries.record(started, usage, failure)


def _text_of(piece: ChatText | FunctionCallPiece) -> str:
    if isinstance(piece, ChatText):
        return piece.text
    return piece.name + piece.arguments

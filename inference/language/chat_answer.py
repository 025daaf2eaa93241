"""Read the answer of a chat, streamed or whole, from an OpenAI-compatible server."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

from inference.errors import (
    BadAnswer,
    InferenceError,
    ProviderDown,
    RateLimitError,
    Usage,
)
from inference.json_text import make_storable
from inference.language.chat_pieces import (
    ChatEnd,
    ChatPiece,
    ChatText,
    FunctionCallPiece,
)
from inference.language.event_stream import read_events
from inference.language.token_usage import read_usage

DONE = "[DONE]"
DECLINED = "content_filter"
BUSY_CODES = (429, "429", "rate_limit_exceeded")
MAX_CALLS = 128  # calls of one answer, as hosted endpoints take that many functions
MAX_QUOTED = 200  # characters of the provider's message that are passed on


def read_chat(chunks: Iterable[bytes], *, key: str = "") -> Iterator[ChatPiece]:
    """Yield the pieces of an answer; the last one is a ChatEnd.

    A server that does not stream answers with one JSON object. Raises ProviderDown if the
    answer ends before it is complete, and BadAnswer if it is no answer. Errors do not
    repeat `key`.
    """
    start, rest = _first_bytes(chunks)
    reader = _ChunkReader(key)
    if start.startswith(b"{"):
        yield from reader.read(b"".join([start, *rest]))
    else:
        yield from _read_stream(reader, itertools.chain([start], rest))
    yield reader.end()


def _first_bytes(chunks: Iterable[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes that are more than space, and what comes after them."""
    rest = iter(chunks)
    for chunk in rest:
        if start := chunk.lstrip():
            return start, rest
    return b"", rest


def _read_stream(reader: _ChunkReader, chunks: Iterable[bytes]) -> Iterator[ChatPiece]:
    """Yield the pieces up to `[DONE]`; without it, a reason to finish is enough."""
    for data in read_events(chunks):
        if data.strip() == DONE:
            return
        yield from reader.read(data)
    if reader.has_message and not reader.is_finished:
        raise ProviderDown(
            "The model provider ended the answer before it was complete."
        )


class _ChunkReader:
    """Reads one JSON object after the other, and remembers how the answer ends."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.has_message = False
        self.is_finished = False
        self.reason = "stop"
        self.usage: Usage | None = None

    def read(self, data: str | bytes) -> Iterator[ChatPiece]:
        chunk = self.parse(data)
        self.usage = read_usage(chunk) or self.usage
        choice = _first_choice(chunk)
        if choice is None:
            return
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self.has_message = True
            yield from _pieces_of(delta)
        if reason := choice.get("finish_reason"):
            self.has_message = self.is_finished = True
            self.reason = str(reason)

    def parse(self, data: str | bytes) -> dict[str, Any]:
        try:
            value = make_storable(json.loads(data))
        except (ValueError, RecursionError) as error:
            raise BadAnswer("The language model's answer is not JSON.") from error
        if not isinstance(value, dict):
            raise BadAnswer("The language model's answer is not a JSON object.")
        if value.get("error") or value.get("object") == "error":
            raise self.error_of(value.get("error") or value)
        return value

    def error_of(self, error: Any) -> InferenceError:
        """Return the error that a server sends in the place of a piece."""
        message = str(error.get("message", error) if isinstance(error, dict) else error)
        if self.key:
            message = message.replace(self.key, "[key]")
        detail = f"The model provider stopped the answer: {message[:MAX_QUOTED]}"
        code = error.get("code") if isinstance(error, dict) else None
        return RateLimitError(detail) if code in BUSY_CODES else ProviderDown(detail)

    def end(self) -> ChatEnd:
        """Return the end of the answer; raise BadAnswer if there is no answer."""
        if not self.has_message:
            raise BadAnswer("The language model's answer has no message.")
        if self.reason == DECLINED:
            raise BadAnswer(
                "The language model declined to answer.",
                retryable=False,
                usage=self.usage,
            )
        return ChatEnd(self.reason, self.usage)


def _first_choice(chunk: dict[str, Any]) -> dict[str, Any] | None:
    """Return the first answer; the last chunk of a stream may have usage and no answer."""
    choices = chunk.get("choices")
    if not isinstance(choices, list):
        return None
    answers = (each for each in choices if isinstance(each, dict))
    return next((each for each in answers if not each.get("index")), None)


def _pieces_of(delta: dict[str, Any]) -> Iterator[ChatPiece]:
    """Yield the text and the calls; the thoughts of a reasoning model are left out."""
    content = delta.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if isinstance(content, str) and content:
        yield ChatText(content)
    calls = delta.get("tool_calls")
    for position, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict):
            yield _call_piece(call, position)


def _call_piece(call: dict[str, Any], position: int) -> FunctionCallPiece:
    """Return a piece of a call; a whole answer numbers its calls by their order."""
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    index = call.get("index", position)
    if type(index) is not int or not 0 <= index < MAX_CALLS:
        raise BadAnswer("The language model's answer has a call without a place.")
    arguments = function.get("arguments")
    if isinstance(arguments, dict):  # some local servers send the object itself
        arguments = json.dumps(arguments)
    return FunctionCallPiece(
        index,
        call_id=_text(call.get("id")),
        name=_text(function.get("name")),
        arguments=_text(arguments),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

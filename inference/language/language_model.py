"""The base class of language-model providers, and the table of providers by setting value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from inference.errors import Usage
from inference.language.chat_pieces import ChatPiece, ChatRequest
from inference.registry import Registry

NONE = "none"


@dataclass(frozen=True)
class Completion:
    """An answer of a model; `usage` is None if the server does not count tokens."""

    answer: dict[str, Any]
    usage: Usage | None = None


class LanguageModel(ABC):
    """A model that answers with JSON or in a chat; one instance serves all threads of a process."""

    # Set by `inference.language.client`: failed calls in a row, and the moment (of the
    # monotonic clock) until which the client asks nothing.
    failures = 0
    rests_until = 0.0

    @property
    @abstractmethod
    def name(self) -> str:
        """The model's name, for the record of each call."""

    @abstractmethod
    def complete_json(
        self,
        *,
        system: str,
        prompt: str,
        schema: dict[str, Any],
        max_tokens: int,
        timeout: float | None = None,
    ) -> Completion:
        """Return the model's answer, a JSON object, within `timeout` seconds.

        The request asks for an answer that follows `schema`. Not every server enforces the
        schema, so the caller validates the answer. Raises InferenceError. A RequestRefusal
        is retryable if the next call will have a form that more servers know.
        """

    @abstractmethod
    def chat(
        self, request: ChatRequest, *, timeout: float
    ) -> Generator[ChatPiece, None, None]:
        """Yield the pieces of an answer as they arrive, within about `timeout` seconds.

        The last piece is a ChatEnd. Raises InferenceError, also between two pieces.
        Closing the iterator stops the server.
        """


registry = Registry[LanguageModel](
    choice="LANGUAGE_PROVIDER",
    table={
        "openai": "inference.language.openai.OpenAILanguage",
        "fake": "inference.language.fake.FakeLanguage",
    },
    reads=["LANGUAGE_MODEL", "LANGUAGE_URL", "LANGUAGE_API_KEY", "LANGUAGE_TIMEOUT"],
)


def from_settings() -> LanguageModel | None:
    if settings.LANGUAGE_PROVIDER == NONE:
        return None
    return registry.active()

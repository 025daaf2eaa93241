from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from inference.errors import Usage
from inference.registry import Registry

NONE = "none"


@dataclass(frozen=True)
class Completion:
    """What a model answered; `usage` is None when the server does not count."""

    answer: dict[str, Any]
    usage: Usage | None = None


class LanguageModel(ABC):
    """Answers prompts with JSON; one instance serves all threads of a process."""

    # Kept by `inference.language.client`: calls that failed one after the other, and the moment
    # (of the monotonic clock) until which nothing is asked of it.
    failures = 0
    resting_until = 0.0

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

        The model is asked to keep to `schema`; only the caller's own validation makes
        sure of it, since not every server enforces it. Raises InferenceError; Refused
        is retryable when the next call will ask in a way that more servers understand.
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

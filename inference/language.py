from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from django.conf import settings

from inference.registry import Registry

NONE = "none"


class LanguageModel(ABC):
    """Answers prompts with JSON; one instance serves all threads of a process."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The model's name, for the record of each call."""

    @abstractmethod
    def complete_json(
        self, *, system: str, prompt: str, schema: dict[str, Any], max_tokens: int
    ) -> dict[str, Any]:
        """Return the model's answer, a JSON object.

        The model is asked to keep to `schema`; only the caller's own validation makes
        sure of it, since not every server enforces it. Raises InferenceError.
        """


registry = Registry[LanguageModel](
    choice="LANGUAGE_PROVIDER",
    table={
        "openai": "inference.openai_language.OpenAILanguage",
        "fake": "inference.fake_language.FakeLanguage",
    },
    reads=["LANGUAGE_MODEL", "LANGUAGE_URL", "LANGUAGE_API_KEY", "LANGUAGE_TIMEOUT"],
)


def active() -> LanguageModel | None:
    if settings.LANGUAGE_PROVIDER == NONE:
        return None
    return registry.active()

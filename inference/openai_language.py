from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.conf import settings

from inference.errors import BadAnswer, Misconfigured
from inference.language import LanguageModel

if TYPE_CHECKING:
    from inference.endpoint import Endpoint


class OpenAILanguage(LanguageModel):
    """Any endpoint that speaks OpenAI's chat completions API, hosted or local."""

    def __init__(self) -> None:
        if not settings.LANGUAGE_URL or not settings.LANGUAGE_MODEL:
            raise Misconfigured(
                "LANGUAGE_PROVIDER=openai needs LANGUAGE_URL and LANGUAGE_MODEL."
            )
        self._model: str = settings.LANGUAGE_MODEL

    @property
    def name(self) -> str:
        return self._model

    def complete_json(
        self, *, system: str, prompt: str, schema: dict[str, Any], max_tokens: int
    ) -> dict[str, Any]:
        body = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": prompt},
            ],
            "max_tokens": max_tokens,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            },
        }
        return parsed(self._endpoint.post("/chat/completions", body))

    @cached_property
    def _endpoint(self) -> Endpoint:
        from inference.endpoint import Endpoint  # takes a second

        return Endpoint(
            url=settings.LANGUAGE_URL,
            key=settings.LANGUAGE_API_KEY,
            timeout=settings.LANGUAGE_TIMEOUT,
        )


def parsed(completion: Any) -> dict[str, Any]:
    try:
        choice = completion["choices"][0]
        content, reason = choice["message"].get("content"), choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise BadAnswer("The language model's answer has no message.") from error
    if reason == "length":
        # The same limit cuts the same answer again.
        raise BadAnswer("The language model's answer was cut off.", retryable=False)
    if not content:
        raise BadAnswer("The language model declined to answer.", retryable=False)
    return _object(content)


def _object(content: Any) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadAnswer("The language model's answer is not JSON.") from error
    if not isinstance(answer, dict):
        raise BadAnswer("The language model's answer is not a JSON object.")
    return answer

"""Answers from an endpoint that speaks OpenAI's chat completions API."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeGuard

from django.conf import settings

from inference import json_text
from inference.errors import BadAnswer, ProviderMisconfiguration, RequestRefusal, Usage
from inference.language.language_model import Completion, LanguageModel

if TYPE_CHECKING:
    from inference.endpoint import Endpoint

# The forms of a request for JSON, the strictest first. Servers refuse unknown forms.
FORMS = ("json_schema", "json_object", "text")
# Statuses with which servers refuse an unknown form.
UNKNOWN_FORM = {400, 415, 422, 501}
# The name of the parameter for older and local servers, and its name for newer hosted
# models.
TOKEN_LIMIT, NEWER_TOKEN_LIMIT = "max_tokens", "max_completion_tokens"
MAX_TOKEN_COUNT = 2**31 - 1  # the largest valid count; some servers answer -1


class OpenAILanguage(LanguageModel):
    """Any endpoint that speaks OpenAI's chat completions API, hosted or local.

    The provider keeps the form that the server has not refused, until the process ends.
    """

    def __init__(self) -> None:
        if not settings.LANGUAGE_URL or not settings.LANGUAGE_MODEL:
            raise ProviderMisconfiguration(
                "LANGUAGE_PROVIDER=openai needs LANGUAGE_URL and LANGUAGE_MODEL."
            )
        self._model: str = settings.LANGUAGE_MODEL
        self._form = 0
        self._limit = TOKEN_LIMIT

    @property
    def name(self) -> str:
        return self._model

    def complete_json(
        self,
        *,
        system: str,
        prompt: str,
        schema: dict[str, Any],
        max_tokens: int,
        timeout: float | None = None,
    ) -> Completion:
        form, limit = self._form, self._limit
        body = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": _system_prompt(system, schema, form)},
                {"role": "user", "content": prompt},
            ],
            limit: max_tokens,
            **_response_format(schema, form),
        }
        try:
            completion = self._endpoint.post("/chat/completions", body, timeout=timeout)
        except RequestRefusal as refusal:
            refusal.retryable = self._adapt(refusal, form, limit)
            raise
        return parse_completion(completion)

    def _adapt(self, refusal: RequestRefusal, form: int, limit: str) -> bool:
        """Choose another form for the next call; return whether there is one left to try."""
        if limit == TOKEN_LIMIT and NEWER_TOKEN_LIMIT in refusal.detail:
            self._limit = NEWER_TOKEN_LIMIT
            return True
        if refusal.status not in UNKNOWN_FORM:
            return False
        # The server refused the prompt in every form, so the form was not the reason. The
        # next prompt starts with the first form.
        self._form = (form + 1) % len(FORMS)
        return self._form > 0

    @cached_property
    def _endpoint(self) -> Endpoint:
        from inference.endpoint import Endpoint  # takes a second

        return Endpoint(
            url=settings.LANGUAGE_URL,
            key=settings.LANGUAGE_API_KEY,
            timeout=settings.LANGUAGE_TIMEOUT,
        )


def _system_prompt(system: str, schema: dict[str, Any], form: int) -> str:
    """Return the system prompt; it includes the schema if the server does not enforce it."""
    if form == 0:
        return system
    return (
        f"{system}\n\nAnswer with one JSON object and nothing else. It follows this "
        f"JSON Schema:\n{json.dumps(schema, ensure_ascii=False)}"
    )


def _response_format(schema: dict[str, Any], form: int) -> dict[str, Any]:
    if FORMS[form] == "text":
        return {}
    value: dict[str, Any] = {"type": FORMS[form]}
    if FORMS[form] == "json_schema":
        value["json_schema"] = {"name": "answer", "strict": True, "schema": schema}
    return {"response_format": value}


def parse_completion(completion: Any) -> Completion:
    try:
        choice = completion["choices"][0]
        content, reason = choice["message"].get("content"), choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise BadAnswer("The language model's answer has no message.") from error
    usage = _usage(completion)
    if reason == "length":
        # Another call with the same limit would cut the answer again.
        raise BadAnswer(
            "The language model's answer was cut off.", retryable=False, usage=usage
        )
    if not content:
        raise BadAnswer(
            "The language model declined to answer.", retryable=False, usage=usage
        )
    answer = json_text.first_object(content) if isinstance(content, str) else None
    if answer is None:
        detail = "The language model's answer is not a JSON object."
        raise BadAnswer(detail, text=str(content), usage=usage)
    return Completion(answer, usage)


def _usage(completion: dict[str, Any]) -> Usage | None:
    usage = completion.get("usage")
    if not isinstance(usage, dict):
        return None
    prompt, answer = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return Usage(prompt, answer) if _is_count(prompt) and _is_count(answer) else None


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= MAX_TOKEN_COUNT

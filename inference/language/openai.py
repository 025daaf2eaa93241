"""Answers from an endpoint that speaks OpenAI's chat completions API."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.conf import settings

from inference import json_text
from inference.errors import BadAnswer, ProviderMisconfiguration, RequestRefusal
from inference.language.chat_answer import read_chat
from inference.language.chat_pieces import ChatPiece, ChatRequest
from inference.language.language_model import Completion, LanguageModel
from inference.language.token_usage import read_usage

if TYPE_CHECKING:
    from inference.endpoint import Endpoint

# The forms of a request for JSON, the strictest first. Servers refuse unknown forms.
FORMS = ("json_schema", "json_object", "text")
MAX_SHOWN = 300  # characters of an answer that cannot be used, in its error
# Statuses with which servers refuse an unknown form.
UNKNOWN_FORM = {400, 415, 422, 501}
# The name of the parameter for older and local servers, and its name for newer hosted
# models.
TOKEN_LIMIT, NEWER_TOKEN_LIMIT = "max_tokens", "max_completion_tokens"
# The forms of a chat: with the usage in the last chunk, without it, and not streamed.
CHAT_FORMS: tuple[dict[str, Any], ...] = (
    {"stream": True, "stream_options": {"include_usage": True}},
    {"stream": True},
    {},
)


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
        self._chat_form = 0
        self._limit = TOKEN_LIMIT
        self._takes_stop = True

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
        return parse_completion(completion, schema)

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

    def chat(
        self, request: ChatRequest, *, timeout: float
    ) -> Generator[ChatPiece, None, None]:
        form, limit = self._chat_form, self._limit
        body = {
            "model": self._model,
            "messages": list(request.messages),
            limit: request.max_tokens,
            **CHAT_FORMS[form],
            **self._chat_options(request),
        }
        try:
            chunks = self._endpoint.stream("/chat/completions", body, timeout=timeout)
            with closing(chunks):
                yield from read_chat(chunks, key=settings.LANGUAGE_API_KEY)
        except RequestRefusal as refusal:
            refusal.retryable = self._adapt_chat(refusal, body, form)
            raise

    def _chat_options(self, request: ChatRequest) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if request.functions:
            options["tools"] = list(request.functions)
        if request.stop and self._takes_stop:
            options["stop"] = list(request.stop)
        return options

    def _adapt_chat(
        self, refusal: RequestRefusal, body: Mapping[str, Any], form: int
    ) -> bool:
        """Choose another form for the next call; return whether there is one left to try."""
        if TOKEN_LIMIT in body and NEWER_TOKEN_LIMIT in refusal.detail:
            self._limit = NEWER_TOKEN_LIMIT
            return True
        if refusal.status not in UNKNOWN_FORM:
            return False
        if "stop" in body and "stop" in refusal.detail:
            # Models that reason refuse stop words; the caller drops what comes after them.
            self._takes_stop = False
            return True
        # As for JSON: refused in every form, the messages are the reason.
        self._chat_form = (form + 1) % len(CHAT_FORMS)
        return self._chat_form > 0

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


def parse_completion(completion: Any, schema: Mapping[str, Any]) -> Completion:
    try:
        choice = completion["choices"][0]
        content, reason = choice["message"].get("content"), choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise BadAnswer("The language model's answer has no message.") from error
    usage = read_usage(completion)
    if reason == "length":
        # Another call with the same limit would cut the answer again.
        raise BadAnswer(
            "The language model's answer was cut off.", retryable=False, usage=usage
        )
    if not content:
        raise BadAnswer(
            "The language model declined to answer.", retryable=False, usage=usage
        )
    keys = schema.get("properties", ())
    answer = json_text.last_object(content, keys) if isinstance(content, str) else None
    if answer is None:
        detail = (
            "The language model's answer has no JSON object with the keys "
            f"{', '.join(keys)}. It begins: {content!s:.{MAX_SHOWN}}"
        )
        raise BadAnswer(detail, text=str(content), usage=usage)
    return Completion(answer, usage)

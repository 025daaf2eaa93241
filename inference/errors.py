"""The errors of providers; the docstring of a class is its message."""

from __future__ import annotations

from dataclasses import dataclass

from common.errors import message_of


@dataclass(frozen=True)
class Usage:
    """Tokens of one call, as the server counts them."""

    prompt_tokens: int
    answer_tokens: int


class InferenceError(Exception):
    """The model provider did not answer."""

    retryable: bool = False  # whether the same call can succeed later
    retry_after: float | None = None  # seconds, when the provider named them

    def __init__(
        self,
        detail: str = "",
        *,
        retryable: bool | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.detail = detail or message_of(type(self))
        if retryable is not None:
            self.retryable = retryable
        self.retry_after = retry_after
        super().__init__(self.detail)


class ProviderMisconfiguration(InferenceError):
    """The provider cannot run as it is configured; run `manage.py check`."""


class ProviderDown(InferenceError):
    """The model provider cannot be reached or has failed; try again later."""

    retryable = True


class ProviderTimeout(InferenceError):
    """The model provider did not answer in time; try again later."""

    retryable = True


class RateLimitError(InferenceError):
    """The model provider accepts no more calls for now; try again later."""

    retryable = True


class RequestRefusal(InferenceError):
    """The model provider refused the request; the same request will not succeed."""

    def __init__(self, detail: str = "", *, status: int) -> None:
        self.status = status
        super().__init__(detail)


class BadAnswer(InferenceError):
    """The model provider answered with something that cannot be used.

    `text` is the answer, if it has one, and `usage` its tokens.
    """

    retryable = True

    def __init__(
        self,
        detail: str = "The model provider answered with something that cannot be used.",
        *,
        retryable: bool | None = None,
        text: str = "",
        usage: Usage | None = None,
    ) -> None:
        super().__init__(detail, retryable=retryable)
        self.text = text
        self.usage = usage


class BudgetExceeded(InferenceError):
    """The project has used up its language-model budget for today."""

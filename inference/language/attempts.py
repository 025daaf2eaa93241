"""The calls of one question to a model: their time, budget, pauses, and the record of each.

Never use this inside a transaction: a call takes seconds, and its row must stay even if
the caller's work is rolled back.
"""

from __future__ import annotations

import time

from common.text import secrets
from inference import tokens
from inference.errors import (
    BadAnswer,
    BudgetExceeded,
    InferenceError,
    ProviderDown,
    ProviderMisconfiguration,
    ProviderTimeout,
    RequestRefusal,
    Usage,
)
from inference.language import budget, language_model
from inference.language.budget import DailyBudget
from inference.language.language_model import LanguageModel
from inference.models import ModelCall

# The most failed calls of one question. A call does not count if the server refused the
# request's form.
TRIES = 3
# Seconds before the second and the third try; a server may name a longer wait.
PAUSES = (0.5, 2.0)
MAX_PAUSE = 10.0  # seconds; the caller is waiting
# After this many failed questions in a row, the client asks no question for REST seconds,
# so that a server that hangs does not block every thread of the service.
MAX_FAILURES = 3
REST = 30.0


def model_to_ask() -> LanguageModel:
    """Return the model that the settings name; raise InferenceError if it cannot be asked now."""
    model = language_model.from_settings()
    if model is None:
        raise ProviderMisconfiguration(
            "LANGUAGE_PROVIDER is 'none': there is no model to ask."
        )
    left = model.rests_until - time.monotonic()
    if left > 0:
        detail = f"The language model has failed repeatedly; it rests for {left:.0f} s."
        raise ProviderDown(detail)
    return model


class Attempts:
    """The calls of one question; `deadline` is a moment of the monotonic clock."""

    def __init__(
        self,
        model: LanguageModel,
        *,
        purpose: str,
        version: str,
        daily_budget: DailyBudget,
        deadline: float,
    ) -> None:
        self.model = model
        self.purpose = purpose
        self.version = version
        self.daily_budget = daily_budget
        self.deadline = deadline
        self.count = 0
        self.failed = 0  # since the last prompt

    def begin(self, largest: Usage) -> float:
        """Count a call, and return the moment of its start.

        `largest` is the most that the call can use. Raise BudgetExceeded or ProviderTimeout.
        """
        budget.refuse_over_budget(self.daily_budget, largest)
        started = time.monotonic()
        if started >= self.deadline:
            raise ProviderTimeout("The run's time for the language model is used up.")
        self.count += 1
        return started

    def wait_after(self, error: InferenceError) -> bool:
        """Wait as long as the server says, at most MAX_PAUSE; return whether to call again."""
        if not error.retryable:
            return False
        pause = self._pause(error)
        self.failed += pause is not None
        if self.failed >= TRIES or (pause or 0.0) > MAX_PAUSE:
            return False
        if time.monotonic() + (pause or 0.0) >= self.deadline:
            return False
        time.sleep(pause or 0.0)
        return True

    def _pause(self, error: InferenceError) -> float | None:
        """Return the seconds; None if the next call has another form and need not wait."""
        if isinstance(error, RequestRefusal):
            return None
        if error.retry_after is not None:
            return error.retry_after
        return PAUSES[min(self.failed, len(PAUSES) - 1)]

    def record(
        self, started: float, usage: Usage, error: InferenceError | None = None
    ) -> None:
        """Write the call that began at `started` into the record, however it ended."""
        ModelCall.objects.create(
            project_id=self.daily_budget.project_id,
            run_id=self.daily_budget.run_id,
            purpose=self.purpose,
            prompt_version=self.version,
            model=self.model.name[:300],
            outcome=_outcome(error),
            error=secrets.error_text(error.detail, 500) if error else "",
            attempt=self.count,
            prompt_tokens=usage.prompt_tokens,
            answer_tokens=usage.answer_tokens,
            cost=budget.price(usage),
            took_ms=round((time.monotonic() - started) * 1000),
        )

    def note_success(self) -> None:
        self.model.failures = 0

    def note_failure(self, error: InferenceError) -> None:
        """Count a failure of the server; a spent budget or an unusable answer does not count."""
        if isinstance(error, BadAnswer | BudgetExceeded) or not error.retryable:
            return
        self.model.failures += 1
        if self.model.failures >= MAX_FAILURES:
            self.model.failures = 0
            rest = max(REST, error.retry_after or 0.0)
            self.model.rests_until = time.monotonic() + rest


def failed_usage(error: InferenceError, prompt_tokens: int) -> Usage:
    """Return the usage of a failed call; a server may charge for a prompt that it has read."""
    if isinstance(error, BadAnswer):
        return error.usage or Usage(prompt_tokens, tokens.estimate(error.text))
    if isinstance(error, ProviderTimeout):
        return Usage(prompt_tokens, 0)
    return Usage(0, 0)


def _outcome(error: InferenceError | None) -> ModelCall.Outcome:
    if error is None:
        return ModelCall.Outcome.ANSWERED
    is_answer = isinstance(error, BadAnswer)
    return ModelCall.Outcome.INVALID if is_answer else ModelCall.Outcome.FAILED

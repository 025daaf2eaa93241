"""Ask a language model, within limits; every call is recorded.

Never call this inside a transaction: a call takes seconds, and its row must stay even if
the caller's work is rolled back.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from common.text import secrets
from common.text.plain_text import clip
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
from inference.language import budget, language_model, schemas
from inference.language.budget import DailyBudget
from inference.language.language_model import Completion, LanguageModel
from inference.models import ModelCall

Shape = TypeVar("Shape", bound=BaseModel)

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
# The most characters of an unusable answer that are sent back. They are enough to show what
# is wrong.
MAX_ANSWER_QUOTED = 8_000
MAX_ERRORS_LISTED = 10


@dataclass(frozen=True)
class Question:
    """One question to a language model; `version` identifies the text of its prompt file."""

    purpose: str
    version: str
    system: str
    prompt: str
    max_tokens: int


@dataclass(frozen=True)
class Answer(Generic[Shape]):
    value: Shape
    model: str


def ask(
    question: Question, shape: type[Shape], daily_budget: DailyBudget
) -> Answer[Shape]:
    """Ask a question and return an answer that validates as `shape`.

    An unusable answer is sent back once, for correction. All calls of a run together take
    at most LANGUAGE_TIMEOUT seconds. Raises InferenceError; the caller then continues
    without an answer.
    """
    model = language_model.from_settings()
    if model is None:
        raise ProviderMisconfiguration(
            "LANGUAGE_PROVIDER is 'none': there is no model to ask."
        )
    _refuse_during_rest(model)
    try:
        answer = _Exchange(model, question, shape, daily_budget).answer()
    except InferenceError as error:
        _note_failure(model, error)
        raise
    model.failures = 0
    return Answer(answer, model.name)


def _refuse_during_rest(model: LanguageModel) -> None:
    left = model.rests_until - time.monotonic()
    if left > 0:
        detail = f"The language model has failed repeatedly; it rests for {left:.0f} s."
        raise ProviderDown(detail)


def _note_failure(model: LanguageModel, error: InferenceError) -> None:
    """Count a failure of the server; a spent budget or an unusable answer does not count."""
    if isinstance(error, BadAnswer | BudgetExceeded) or not error.retryable:
        return
    model.failures += 1
    if model.failures >= MAX_FAILURES:
        model.failures = 0
        model.rests_until = time.monotonic() + max(REST, error.retry_after or 0.0)


class _Exchange(Generic[Shape]):
    """The calls of one question."""

    def __init__(
        self,
        model: LanguageModel,
        question: Question,
        shape: type[Shape],
        daily_budget: DailyBudget,
    ) -> None:
        self.model = model
        self.question = question
        self.shape = shape
        self.daily_budget = daily_budget
        self.schema = schemas.strict_schema(shape)
        self.deadline = time.monotonic() + budget.seconds_left(daily_budget)
        self.attempts = 0

    def answer(self) -> Shape:
        try:
            return self.call_until_answered(self.question.prompt)
        except BadAnswer as bad:
            if not bad.text:
                raise
            return self.call_until_answered(self.correction_prompt(bad))

    def correction_prompt(self, bad: BadAnswer) -> str:
        """Repeat the question, with the unusable answer and its errors."""
        return (
            f"{self.question.prompt}\n\nYour last answer cannot be used: {bad.detail}\n"
            f"It was:\n{clip(bad.text, MAX_ANSWER_QUOTED)}\n\nAnswer again, with one JSON object "
            f"that follows this JSON Schema:\n{json.dumps(self.schema)}"
        )

    def call_until_answered(self, prompt: str) -> Shape:
        """Call until the model answers; between calls, wait as long as the server says.

        A pause is at most MAX_PAUSE.
        """
        failed = 0
        while True:
            try:
                return self.call(prompt)
            except BadAnswer:
                raise
            except InferenceError as error:
                if not error.retryable:
                    raise
                pause = _pause(error, failed)
                failed += pause is not None
                if failed >= TRIES or not self.wait(pause or 0.0):
                    raise

    def wait(self, pause: float) -> bool:
        """Wait if there is time for the pause; return whether there was time."""
        if pause > MAX_PAUSE or time.monotonic() + pause >= self.deadline:
            return False
        time.sleep(pause)
        return True

    def call(self, prompt: str) -> Shape:
        """Call once; record the call however it ends."""
        budget.refuse_over_budget(
            self.daily_budget,
            Usage(self.estimate_prompt(prompt), self.question.max_tokens),
        )
        started = time.monotonic()
        if started >= self.deadline:
            raise ProviderTimeout("The run's time for the language model is used up.")
        self.attempts += 1
        try:
            completion = self.model.complete_json(
                system=self.question.system,
                prompt=prompt,
                schema=self.schema,
                max_tokens=self.question.max_tokens,
                timeout=self.deadline - started,
            )
            value = self.validate(completion)
        except InferenceError as error:
            self.record(started, self.usage_of(error, prompt), error)
            raise
        self.record(
            started, completion.usage or self.estimate_usage(prompt, _text(completion))
        )
        return value

    def validate(self, completion: Completion) -> Shape:
        try:
            return self.shape.model_validate(completion.answer)
        except ValidationError as error:
            raise BadAnswer(
                _validation_errors(error),
                text=_text(completion),
                usage=completion.usage,
            ) from error

    def usage_of(self, error: InferenceError, prompt: str) -> Usage:
        """Return the usage of a failed call; a server may charge for a prompt that it has read."""
        if isinstance(error, BadAnswer):
            return error.usage or self.estimate_usage(prompt, error.text)
        if isinstance(error, ProviderTimeout):
            return self.estimate_usage(prompt, "")
        return Usage(0, 0)

    def estimate_usage(self, prompt: str, answer: str) -> Usage:
        return Usage(self.estimate_prompt(prompt), tokens.estimate(answer))

    def estimate_prompt(self, prompt: str) -> int:
        return tokens.estimate(self.question.system) + tokens.estimate(prompt)

    def record(
        self, started: float, usage: Usage, error: InferenceError | None = None
    ) -> None:
        ModelCall.objects.create(
            project_id=self.daily_budget.project_id,
            run_id=self.daily_budget.run_id,
            purpose=self.question.purpose,
            prompt_version=self.question.version,
            model=self.model.name[:300],
            outcome=_outcome(error),
            error=secrets.error_text(error.detail, 500) if error else "",
            attempt=self.attempts,
            prompt_tokens=usage.prompt_tokens,
            answer_tokens=usage.answer_tokens,
            cost=budget.price(usage),
            took_ms=round((time.monotonic() - started) * 1000),
        )


def _pause(error: InferenceError, failed: int) -> float | None:
    """Return the seconds to wait; None if the next call has another form and need not wait."""
    if isinstance(error, RequestRefusal):
        return None
    if error.retry_after is not None:
        return error.retry_after
    return PAUSES[min(failed, len(PAUSES) - 1)]


def _outcome(error: InferenceError | None) -> ModelCall.Outcome:
    if error is None:
        return ModelCall.Outcome.ANSWERED
    is_answer = isinstance(error, BadAnswer)
    return ModelCall.Outcome.INVALID if is_answer else ModelCall.Outcome.FAILED


def _text(completion: Completion) -> str:
    return json.dumps(completion.answer, ensure_ascii=False)


def _validation_errors(error: ValidationError) -> str:
    """List the errors of an answer in words that a model can act on."""
    found = error.errors(include_url=False, include_input=False)[:MAX_ERRORS_LISTED]
    lines = [f"{'.'.join(map(str, e['loc'])) or 'answer'}: {e['msg']}" for e in found]
    return "; ".join(lines)

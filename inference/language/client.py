"""The one way in which the service asks a language model: in bounds, and on record.

Nothing here may run inside a transaction: a call takes seconds, and its row must stay
whatever becomes of the caller's work.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

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

# Failed calls of one question; what a server refuses for its form is not counted.
TRIES = 3
# Seconds before the second and the third try; a server may name a longer wait.
PAUSES = (0.5, 2.0)
MAX_PAUSE = 10.0  # seconds; whoever asks is waiting
# After so many failed questions in a row the model is left alone for REST seconds, so
# that a server that hangs does not hold every thread of the service.
MAX_FAILURES = 3
REST = 30.0
# Of an answer that cannot be used, in characters: enough to see what is wrong.
MAX_ANSWER_QUOTED = 8_000
MAX_ERRORS_LISTED = 10


@dataclass(frozen=True)
class Question:
    """`version` names the prompt file's text, for the record."""

    purpose: str
    version: str
    system: str
    prompt: str
    max_tokens: int


@dataclass(frozen=True)
class Answer(Generic[Shape]):
    value: Shape
    model: str


def ask(question: Question, shape: type[Shape], account: DailyBudget) -> Answer[Shape]:
    """Ask, have one unusable answer mended, and return what passes `shape`.

    All calls of a run together take LANGUAGE_TIMEOUT seconds at most. Raises
    InferenceError: the caller goes on without a model.
    """
    model = language_model.from_settings()
    if model is None:
        raise ProviderMisconfiguration(
            "LANGUAGE_PROVIDER is 'none': there is no model to ask."
        )
    _refuse_while_resting(model)
    try:
        answer = _Exchange(model, question, shape, account).answer()
    except InferenceError as error:
        _note_failure(model, error)
        raise
    model.failures = 0
    return Answer(answer, model.name)


def _refuse_while_resting(model: LanguageModel) -> None:
    left = model.resting_until - time.monotonic()
    if left > 0:
        detail = f"The language model has failed repeatedly; it rests for {left:.0f} s."
        raise ProviderDown(detail)


def _note_failure(model: LanguageModel, error: InferenceError) -> None:
    """A cap or an unusable answer says nothing against the server."""
    if isinstance(error, BadAnswer | BudgetExceeded) or not error.retryable:
        return
    model.failures += 1
    if model.failures >= MAX_FAILURES:
        model.failures = 0
        model.resting_until = time.monotonic() + max(REST, error.retry_after or 0.0)


class _Exchange(Generic[Shape]):
    """The calls of one question."""

    def __init__(
        self,
        model: LanguageModel,
        question: Question,
        shape: type[Shape],
        account: DailyBudget,
    ) -> None:
        self.model = model
        self.question = question
        self.shape = shape
        self.account = account
        self.schema = schemas.strict_schema(shape)
        self.deadline = time.monotonic() + budget.seconds_left(account)
        self.attempts = 0

    def answer(self) -> Shape:
        try:
            return self.tried(self.question.prompt)
        except BadAnswer as bad:
            if not bad.said:
                raise
            return self.tried(self.mending(bad))

    def mending(self, bad: BadAnswer) -> str:
        """The question again, with what was wrong about the answer."""
        return (
            f"{self.question.prompt}\n\nYour last answer cannot be used: {bad.detail}\n"
            f"It was:\n{clip(bad.said, MAX_ANSWER_QUOTED)}\n\nAnswer again, with one JSON object "
            f"that follows this JSON Schema:\n{json.dumps(self.schema)}"
        )

    def tried(self, prompt: str) -> Shape:
        """Call until the model answers; waits as the server says, within bounds."""
        failed = 0
        while True:
            try:
                return self.called(prompt)
            except BadAnswer:
                raise
            except InferenceError as error:
                if not error.retryable:
                    raise
                pause = _pause(error, failed)
                failed += pause is not None
                if failed >= TRIES or not self.waits(pause or 0.0):
                    raise

    def waits(self, pause: float) -> bool:
        """Whether there is time for the pause; if so, it is over."""
        if pause > MAX_PAUSE or time.monotonic() + pause >= self.deadline:
            return False
        time.sleep(pause)
        return True

    def called(self, prompt: str) -> Shape:
        """One call, recorded however it ends."""
        budget.refuse_over_budget(
            self.account, Usage(self.estimate(prompt), self.question.max_tokens)
        )
        started = time.monotonic()
        if started >= self.deadline:
            raise ProviderTimeout("The run's time for the language model is used up.")
        self.attempts += 1
        try:
            said = self.model.complete_json(
                system=self.question.system,
                prompt=prompt,
                schema=self.schema,
                max_tokens=self.question.max_tokens,
                timeout=self.deadline - started,
            )
            value = self.checked(said)
        except InferenceError as error:
            self.record(started, self.usage_of(error, prompt), error)
            raise
        self.record(started, said.usage or self.counted(prompt, _text(said)))
        return value

    def checked(self, said: Completion) -> Shape:
        try:
            return self.shape.model_validate(said.answer)
        except ValidationError as error:
            raise BadAnswer(
                _validation_errors(error), said=_text(said), usage=said.usage
            ) from error

    def usage_of(self, error: InferenceError, prompt: str) -> Usage:
        """What a failed call cost: a server that has read the prompt may charge it."""
        if isinstance(error, BadAnswer):
            return error.usage or self.counted(prompt, error.said)
        if isinstance(error, ProviderTimeout):
            return self.counted(prompt, "")
        return Usage(0, 0)

    def counted(self, prompt: str, said: str) -> Usage:
        return Usage(self.estimate(prompt), tokens.estimate(said))

    def estimate(self, prompt: str) -> int:
        return tokens.estimate(self.question.system) + tokens.estimate(prompt)

    def record(
        self, started: float, usage: Usage, error: InferenceError | None = None
    ) -> None:
        ModelCall.objects.create(
            project_id=self.account.project_id,
            run_id=self.account.run_id,
            purpose=self.question.purpose,
            prompt_version=self.question.version,
            model=self.model.name[:300],
            outcome=_outcome(error),
            error=error.detail[:500] if error else "",
            attempt=self.attempts,
            prompt_tokens=usage.prompt_tokens,
            answer_tokens=usage.answer_tokens,
            cost=budget.price(usage),
            took_ms=round((time.monotonic() - started) * 1000),
        )


def _pause(error: InferenceError, failed: int) -> float | None:
    """Seconds to wait; None when the next call asks in another way, so at once."""
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


def _text(said: Completion) -> str:
    return json.dumps(said.answer, ensure_ascii=False)


def _validation_errors(error: ValidationError) -> str:
    """What is wrong with an answer, in words that a model can act on."""
    found = error.errors(include_url=False, include_input=False)[:MAX_ERRORS_LISTED]
    lines = [f"{'.'.join(map(str, e['loc'])) or 'answer'}: {e['msg']}" for e in found]
    return "; ".join(lines)

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

from common.text.plain_text import clip
from inference import tokens
from inference.errors import BadAnswer, InferenceError, Usage
from inference.language import attempts, budget, schemas
from inference.language.attempts import Attempts
from inference.language.budget import DailyBudget
from inference.language.language_model import Completion, LanguageModel

Shape = TypeVar("Shape", bound=BaseModel)

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
    model = attempts.model_to_ask()
    exchange = _Exchange(model, question, shape, daily_budget)
    try:
        answer = exchange.answer()
    except InferenceError as error:
        exchange.attempts.note_failure(error)
        raise
    exchange.attempts.note_success()
    return Answer(answer, model.name)


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
        self.schema = schemas.strict_schema(shape)
        self.attempts = Attempts(
            model,
            purpose=question.purpose,
            version=question.version,
            daily_budget=daily_budget,
            deadline=time.monotonic() + budget.seconds_left(daily_budget),
        )

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
        """Call until the model answers; between calls, wait as long as the server says."""
        self.attempts.failed = 0
        while True:
            try:
                return self.call(prompt)
            except BadAnswer:
                raise
            except InferenceError as error:
                if not self.attempts.wait_after(error):
                    raise

    def call(self, prompt: str) -> Shape:
        """Call once; record the call however it ends."""
        size = tokens.estimate(self.question.system) + tokens.estimate(prompt)
        started = self.attempts.begin(Usage(size, self.question.max_tokens))
        try:
            completion = self.model.complete_json(
                system=self.question.system,
                prompt=prompt,
                schema=self.schema,
                max_tokens=self.question.max_tokens,
                timeout=self.attempts.deadline - started,
            )
            value = self.validate(completion)
        except InferenceError as error:
            self.attempts.record(started, attempts.failed_usage(error, size), error)
            raise
        estimate = Usage(size, tokens.estimate(_text(completion)))
        self.attempts.record(started, completion.usage or estimate)
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


def _text(completion: Completion) -> str:
    return json.dumps(completion.answer, ensure_ascii=False)


def _validation_errors(error: ValidationError) -> str:
    """List the errors of an answer in words that a model can act on."""
    found = error.errors(include_url=False, include_input=False)[:MAX_ERRORS_LISTED]
    lines = [f"{'.'.join(map(str, e['loc'])) or 'answer'}: {e['msg']}" for e in found]
    return "; ".join(lines)

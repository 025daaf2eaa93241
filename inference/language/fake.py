"""The language model of the tests: it gives scripted answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from inference.errors import ProviderDown
from inference.language import language_model
from inference.language.language_model import Completion, LanguageModel

ScriptedAnswer = dict[str, Any] | Completion | Exception


@dataclass(frozen=True)
class Call:
    system: str
    prompt: str
    schema: dict[str, Any]
    max_tokens: int
    timeout: float | None = None


_answers: list[ScriptedAnswer] = []
_calls: list[Call] = []


class FakeLanguage(LanguageModel):
    """Give the scripted answers in turn; when none is left, fail as ProviderDown."""

    name = "fake"

    def complete_json(
        self,
        *,
        system: str,
        prompt: str,
        schema: dict[str, Any],
        max_tokens: int,
        timeout: float | None = None,
    ) -> Completion:
        _calls.append(Call(system, prompt, schema, max_tokens, timeout))
        answer = _answers.pop(0) if _answers else ProviderDown()
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Completion) else Completion(answer)


@contextmanager
def script_answers(*answers: ScriptedAnswer) -> Iterator[list[Call]]:
    """Give these answers or raise these errors; yield the calls as they are made."""
    _answers[:], _calls[:] = answers, []
    if model := language_model.from_settings():
        model.failures, model.rests_until = 0, 0.0
    try:
        yield _calls
    finally:
        _answers.clear()

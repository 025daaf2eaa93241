"""The language model of the tests: it says what the test wrote down for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from inference.errors import ProviderDown
from inference.language import LanguageModel

Answer = dict[str, Any] | Exception


@dataclass(frozen=True)
class Call:
    system: str
    prompt: str
    schema: dict[str, Any]
    max_tokens: int


_answers: list[Answer] = []
_calls: list[Call] = []


class FakeLanguage(LanguageModel):
    """Gives the scripted answers in turn; without one left, it is down."""

    name = "fake"

    def complete_json(
        self, *, system: str, prompt: str, schema: dict[str, Any], max_tokens: int
    ) -> dict[str, Any]:
        _calls.append(Call(system, prompt, schema, max_tokens))
        answer = _answers.pop(0) if _answers else ProviderDown()
        if isinstance(answer, Exception):
            raise answer
        return answer


@contextmanager
def scripted(*answers: Answer) -> Iterator[list[Call]]:
    """Give these answers or raise these errors; yield the calls as they are made."""
    _answers[:], _calls[:] = answers, []
    try:
        yield _calls
    finally:
        _answers.clear()

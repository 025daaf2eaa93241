"""The shape of the model's answer, and what it teaches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from inference.language import schemas
from playbook.lessons import candidates
from playbook.lessons.lesson import (
    Kind,
    Lesson,
    Operation,
    Producer,
    Quote,
    SourceText,
    TaughtLesson,
)
from playbook.models import PlaybookEntry

MAX_LESSONS, MAX_CANDIDATES, MAX_QUOTES, MAX_ERRORS = 3, 2, 3, 5
MAX_QUOTE, MAX_CAUSE = 500, 500  # characters
CONFIDENCE = 0.7
_OF_RULE = (Operation.UPDATE, Operation.CONFIRM, Operation.CONTRADICT)


class QuoteAnswer(BaseModel):
    line: int
    quote: str


class ErrorAnswer(BaseModel):
    line: int
    quote: str
    root_cause: str


class LessonAnswer(BaseModel):
    """One lesson. `shape_for` names the labels that the prompt showed."""

    operation: Literal["add", "update", "confirm", "contradict", "candidate"]
    label: str
    content: str
    kind: Literal[
        "fix",
        "check",
        "instruction",
        "preference",
        "decision",
        "fact",
        "procedure",
    ]
    applies_to: list[str]
    quotes: list[QuoteAnswer]
    expires_when: str


class ReflectionAnswer(BaseModel):
    """The answer. The reasoning comes first, because a model writes in this order."""

    reasoning: str
    errors: list[ErrorAnswer] = Field(default_factory=list)
    lessons: Sequence[LessonAnswer]


def shape_for(labels: Sequence[str]) -> type[ReflectionAnswer]:
    """Return the schema of the answer, which may name no other rule than these."""
    label: Any = schemas.one_of(["", *labels])
    lesson: Any = create_model(
        "LessonOfRules", __base__=LessonAnswer, label=(label, ...)
    )
    shape: type[ReflectionAnswer] = create_model(
        "ReflectionOfRules", __base__=ReflectionAnswer, lessons=(list[lesson], ...)
    )
    return shape


def read_lessons(
    answer: ReflectionAnswer, rules: Mapping[str, PlaybookEntry], *, model: str
) -> Iterator[TaughtLesson]:
    """Yield what the answer teaches, within its limits.

    `rules` are those that the prompt showed, by their labels.
    """
    wishes = [each for each in answer.lessons if each.operation == "candidate"]
    others = [each for each in answer.lessons if each.operation != "candidate"]
    kept = [*others[: 2 * MAX_LESSONS], *wishes[:MAX_CANDIDATES]]
    added = 0
    for each in kept:
        added += each.operation in (Operation.ADD, Operation.UPDATE)
        if added > MAX_LESSONS or (each.operation in _OF_RULE and not each.label):
            continue
        rule = rules.get(each.label)
        yield TaughtLesson(
            lesson=_lesson(each, model),
            operation=each.operation,
            label=each.label if _may_name(each) else "",
            version=rule.version if rule else None,
            reason="A language model read the session.",
        )


def _may_name(answer: LessonAnswer) -> bool:
    if answer.label.startswith(candidates.PREFIX):
        return True
    return answer.operation in _OF_RULE


def _lesson(answer: LessonAnswer, model: str) -> Lesson:
    return Lesson(
        content=" ".join(answer.content.split()),
        kind=Kind(answer.kind),
        quotes=tuple(
            Quote(each.quote.strip()[:MAX_QUOTE]) for each in answer.quotes[:MAX_QUOTES]
        ),
        applies_to=tuple(answer.applies_to[:5]),
        producer=Producer.MODEL,
        producer_name=model[:100],
        confidence=CONFIDENCE,
        expires_when=" ".join(answer.expires_when.split())[:200],
    )


def read_errors(
    answer: ReflectionAnswer, sources: Sequence[SourceText]
) -> list[dict[str, str]]:
    """Return the errors whose quote a source has, letter by letter: {quote, root_cause}."""
    return [
        {"quote": each.quote.strip(), "root_cause": each.root_cause[:MAX_CAUSE].strip()}
        for each in answer.errors[:MAX_ERRORS]
        if each.quote.strip()
        and any(each.quote.strip() in source.text for source in sources)
    ]

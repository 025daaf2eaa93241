"""What a language model says a task teaches, as far as the task's own words bear it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, create_model

from ace.model import asking, prompts, told
from ace.models import AceRun
from ace.reflector import Reflected
from ace.rules import evidence as spans
from ace.rules import masks
from ace.rules.evidence import MAX_QUOTE, Evidence
from ace.rules.lessons import Lesson
from ace.rules.task import Task
from common.text.plain_text import clip
from inference.errors import InferenceError
from inference.language import schemas
from playbook.proposals.proposed_change import Producer
from projects import model_access
from projects.models import Project

PURPOSE = "reflector"
MAX_TOKENS = 2_500  # of an answer with five lessons, their quotes, and some to spare
MOST_LESSONS, MOST_QUOTES = 5, 5
# A shorter quote stands in every text and bears nothing out.
LEAST_QUOTE = 8
SENTENCE = 500  # characters of what is shown to people only
# As sure as the rules are of advice (docs/ace.md, "Lessons").
CONFIDENCE = {"human": 0.8, "test": 0.7, "environment": 0.7}
ON_ITS_OWN_WORD = {"success": 0.5}
ELSE = 0.3


class Quote(BaseModel):
    field: str
    quote: str


class Said(BaseModel):
    """One lesson of the answer; the enums of a project are added to it."""

    content: str
    condition: str
    action: str
    category: str
    root_cause: str
    quotes: list[Quote]


class Reflection(BaseModel):
    error_identification: str
    root_cause: str
    correct_approach: str
    key_insight: str
    lessons: Sequence[Said]


@dataclass(frozen=True)
class Author:
    """Who reflected: columns of the Reflection and keys of each of its lessons."""

    producer: str = Producer.RULE
    producer_name: str = "reflector"
    producer_version: str = "1"


@dataclass(frozen=True)
class Taught:
    """What the model adds to what the rules made of a task; blank where it adds nothing."""

    author: Author = Author()
    lessons: tuple[Lesson, ...] = ()
    error_identification: str = ""
    root_cause: str = ""
    correct_approach: str = ""
    key_insight: str = ""
    notes: tuple[str, ...] = ()


def reflect(run: AceRun, task: Task, read: Reflected) -> Taught:
    """Ask the model about a task whose outcome the rules know; it cannot change that."""
    if read.outcome.value == "unknown" or not model_access.is_enabled(run.project):
        return Taught()
    try:
        answer = asking.ask(
            run,
            prompts.read("reflector"),
            told.prompt(task, run.project, read),
            shape(run.project),
            purpose=PURPOSE,
            max_tokens=MAX_TOKENS,
        )
    except InferenceError as error:
        return Taught(notes=(f"reflector: the rules alone, because: {error.detail}",))
    return _taught(task, read, answer.value, model=answer.model)


def shape(project: Project) -> type[Reflection]:
    """The answer's form, with the project's categories and root causes as enums."""
    category = schemas.one_of(project.options.categories)
    code = schemas.one_of(told.root_causes(project))
    lesson: Any = create_model(
        "Lesson", __base__=Said, category=(category, ...), root_cause=(code, ...)
    )
    return create_model(
        "Reflection",
        __base__=Reflection,
        root_cause=(code, ...),
        lessons=(list[lesson], ...),
    )


def _taught(task: Task, read: Reflected, said: Reflection, *, model: str) -> Taught:
    drawn = [_lesson(task, read, lesson) for lesson in said.lessons[:MOST_LESSONS]]
    dropped = drawn.count(None)
    note = (
        f"reflector: {dropped} lessons of the model had no quote that stands in the run"
    )
    return Taught(
        author=Author(Producer.MODEL, model[:100], prompts.read("reflector").version),
        lessons=tuple(lesson for lesson in drawn if lesson),
        error_identification=clip(said.error_identification.strip(), SENTENCE),
        root_cause=said.root_cause,
        correct_approach=clip(said.correct_approach.strip(), SENTENCE),
        key_insight=clip(said.key_insight.strip(), SENTENCE),
        notes=(note,) if dropped else (),
    )


def _lesson(task: Task, read: Reflected, said: Said) -> Lesson | None:
    """None without a quote that is in the run."""
    evidence = tuple(dict.fromkeys(_evidence(task, said.quotes)))
    content = said.content.strip()
    if not evidence or not content:
        return None
    return Lesson(
        condition=clip(said.condition.strip(), SENTENCE),
        action=clip(said.action.strip(), SENTENCE),
        content=content,
        category=said.category,  # type: ignore[arg-type]  # of the project's own list
        root_cause=said.root_cause,
        evidence=evidence,
        signature=masks.signature("model", "", None, content),
        confidence=_confidence(task, read),
    )


def _confidence(task: Task, read: Reflected) -> float:
    alone = ON_ITS_OWN_WORD.get(read.outcome.value, ELSE)
    return CONFIDENCE.get(task.feedback_source, alone)


def _evidence(task: Task, quotes: Sequence[Quote]) -> Iterator[Evidence]:
    """The quotes that are in the run, word for word, where they are."""
    fields = [*_fields(task)]
    for said in quotes[:MOST_QUOTES]:
        quote = said.quote.strip()[:MAX_QUOTE]
        if len(quote) < LEAST_QUOTE:
            continue
        # The field that was named, if there is one of the name, then any other.
        for field in sorted(fields, key=lambda field: field != said.field):
            start = task.text(field).find(quote)
            if start >= 0:
                yield spans.spanned("quote", field, start, start + len(quote), quote)
                break


def _fields(task: Task) -> Iterator[str]:
    yield from ("feedback", "result", "goal")
    for call in task.calls:
        yield from (call.result_field, call.arguments_field, call.name_field)

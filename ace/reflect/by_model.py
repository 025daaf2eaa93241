"""What a language model says a task teaches, as far as the task's own words bear it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, create_model

from ace.model_calls import model_call, prompt_files
from ace.models import AceRun
from ace.reflect import reflector_prompt
from ace.reflect.by_rules import RuleFindings
from ace.rules import error_signature
from ace.rules import evidence as spans
from ace.rules.evidence import MAX_QUOTE, Evidence
from ace.rules.lessons import TaskLesson
from ace.rules.task import Task
from common.text.plain_text import clip
from inference.errors import InferenceError
from inference.language import schemas
from playbook.proposals.proposed_change import Producer
from projects import model_access
from projects.models import Project

PURPOSE = "reflector"
MAX_TOKENS = 2_500  # of an answer with five lessons, their quotes, and some to spare
MAX_LESSONS, MAX_QUOTES = 5, 5
# A shorter quote stands in every text and bears nothing out.
MIN_QUOTE = 8
MAX_SENTENCE = 500  # characters of what is shown to people only
# As sure as the rules are of advice (docs/ace.md, "Lessons").
CONFIDENCE = {"human": 0.8, "test": 0.7, "environment": 0.7}
OWN_WORD_CONFIDENCE = {"success": 0.5}
DEFAULT_CONFIDENCE = 0.3


class QuoteAnswer(BaseModel):
    field: str
    quote: str


class LessonAnswer(BaseModel):
    """One lesson of the answer; the enums of a project are added to it."""

    content: str
    condition: str
    action: str
    category: str
    root_cause: str
    quotes: list[QuoteAnswer]


class ReflectionAnswer(BaseModel):
    error_identification: str
    root_cause: str
    correct_approach: str
    key_insight: str
    lessons: Sequence[LessonAnswer]


@dataclass(frozen=True)
class ReflectionProducer:
    """Who reflected: columns of the Reflection and keys of each of its lessons."""

    producer: str = Producer.RULE
    producer_name: str = "reflector"
    producer_version: str = "1"


@dataclass(frozen=True)
class ModelLessons:
    """What the model adds to what the rules made of a task; blank where it adds nothing."""

    author: ReflectionProducer = ReflectionProducer()
    lessons: tuple[TaskLesson, ...] = ()
    error_identification: str = ""
    root_cause: str = ""
    correct_approach: str = ""
    key_insight: str = ""
    notes: tuple[str, ...] = ()


def reflect(run: AceRun, task: Task, read: RuleFindings) -> ModelLessons:
    """Ask the model about a task whose outcome the rules know; it cannot change that."""
    if read.outcome.value == "unknown" or not model_access.is_enabled(run.project):
        return ModelLessons()
    try:
        answer = model_call.ask(
            run,
            prompt_files.read("reflector"),
            reflector_prompt.build(task, run.project, read),
            answer_shape(run.project),
            purpose=PURPOSE,
            max_tokens=MAX_TOKENS,
        )
    except InferenceError as error:
        return ModelLessons(
            notes=(f"reflector: the rules alone, because: {error.detail}",)
        )
    return _to_model_lessons(task, read, answer.value, model=answer.model)


def answer_shape(project: Project) -> type[ReflectionAnswer]:
    """The answer's form, with the project's categories and root causes as enums."""
    category = schemas.one_of(project.options.categories)
    code = schemas.one_of(reflector_prompt.root_causes(project))
    lesson: Any = create_model(
        "Lesson",
        __base__=LessonAnswer,
        category=(category, ...),
        root_cause=(code, ...),
    )
    return create_model(
        "Reflection",
        __base__=ReflectionAnswer,
        root_cause=(code, ...),
        lessons=(list[lesson], ...),
    )


def _to_model_lessons(
    task: Task, read: RuleFindings, said: ReflectionAnswer, *, model: str
) -> ModelLessons:
    drawn = [_lesson(task, read, lesson) for lesson in said.lessons[:MAX_LESSONS]]
    dropped = drawn.count(None)
    note = (
        f"reflector: {dropped} lessons of the model had no quote that stands in the run"
    )
    return ModelLessons(
        author=ReflectionProducer(
            Producer.MODEL, model[:100], prompt_files.read("reflector").version
        ),
        lessons=tuple(lesson for lesson in drawn if lesson),
        error_identification=clip(said.error_identification.strip(), MAX_SENTENCE),
        root_cause=said.root_cause,
        correct_approach=clip(said.correct_approach.strip(), MAX_SENTENCE),
        key_insight=clip(said.key_insight.strip(), MAX_SENTENCE),
        notes=(note,) if dropped else (),
    )


def _lesson(task: Task, read: RuleFindings, said: LessonAnswer) -> TaskLesson | None:
    """None without a quote that is in the run."""
    evidence = tuple(dict.fromkeys(_evidence(task, said.quotes)))
    content = said.content.strip()
    if not evidence or not content:
        return None
    return TaskLesson(
        condition=clip(said.condition.strip(), MAX_SENTENCE),
        action=clip(said.action.strip(), MAX_SENTENCE),
        content=content,
        category=said.category,  # type: ignore[arg-type]  # of the project's own list
        root_cause=said.root_cause,
        evidence=evidence,
        signature=error_signature.build("model", "", None, content),
        confidence=_confidence(task, read),
    )


def _confidence(task: Task, read: RuleFindings) -> float:
    alone = OWN_WORD_CONFIDENCE.get(read.outcome.value, DEFAULT_CONFIDENCE)
    return CONFIDENCE.get(task.feedback_source, alone)


def _evidence(task: Task, quotes: Sequence[QuoteAnswer]) -> Iterator[Evidence]:
    """The quotes that are in the run, word for word, where they are."""
    fields = [*_fields(task)]
    for said in quotes[:MAX_QUOTES]:
        quote = said.quote.strip()[:MAX_QUOTE]
        if len(quote) < MIN_QUOTE:
            continue
        # The field that was named, if there is one of the name, then any other.
        for field in sorted(fields, key=lambda field: field != said.field):
            start = task.text(field).find(quote)
            if start >= 0:
                yield spans.make("quote", field, start, start + len(quote), quote)
                break


def _fields(task: Task) -> Iterator[str]:
    yield from ("feedback", "result", "goal")
    for call in task.calls:
        yield from (call.result_field, call.arguments_field, call.name_field)

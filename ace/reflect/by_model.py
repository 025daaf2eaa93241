"""Ask a language model for lessons from a task, and how the entries served that it was given.

What does not quote the task is dropped.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, create_model

from ace.model_calls import model_call, prompt_files
from ace.models import AceRun
from ace.reflect import reflector_prompt
from ace.reflect.by_rules import RuleFindings
from ace.rules import error_signature, foreign_text
from ace.rules import evidence as spans
from ace.rules.evidence import MAX_QUOTE, Evidence
from ace.rules.task import Task
from ace.rules.task_lesson import TaskLesson
from common.text.cuts import Cuts
from inference.errors import InferenceError
from inference.language import schemas
from playbook.history.votes import VoteKind
from playbook.models import PlaybookEntry
from playbook.proposals.proposed_change import Producer
from playbook.rule_text import applicability
from projects import model_access
from projects.models import Project

PURPOSE = "reflector"
# Of an answer: more than the reasoning and five lessons with quotes need.
MAX_TOKENS = 3_500
MAX_LESSONS, MAX_QUOTES = 5, 5
MAX_GIVEN = 20  # entries that the model judges
# A shorter quote occurs in every text and proves nothing.
MIN_QUOTE = 8
MAX_SENTENCE = 500  # characters of a text that only people read
# The rules have the same confidence in advice (docs/ace.md, "Lessons").
CONFIDENCE = {"human": 0.8, "test": 0.7, "environment": 0.7}
OWN_WORD_CONFIDENCE = {"success": 0.5}
DEFAULT_CONFIDENCE = 0.3


class QuoteAnswer(BaseModel):
    field: str
    quote: str


class LessonAnswer(BaseModel):
    """One lesson of the answer.

    `answershape` adds the categories and root causes that the project allows.
    """

    content: str
    condition: str
    action: str
    category: str
    root_cause: str
    applies_to: list[str] = []
    quotes: list[QuoteAnswer]


class JudgementAnswer(BaseModel):
    """How an entry served that the agent was given. `answershape` lists the labels."""

    label: str
    field: str
    quote: str
    verdict: Literal["helpful", "harmful", "neutral"]


class ReflectionAnswer(BaseModel):
    """The answer. The reasoning comes first, because a model writes in this order."""

    reasoning: str
    error_identification: str
    root_cause: str
    correct_approach: str
    key_insight: str
    lessons: Sequence[LessonAnswer]
    entries: Sequence[JudgementAnswer] = ()


@dataclass(frozen=True)
class Judgement:
    """How an entry served, and the quote of the run that shows it."""

    entry_id: uuid.UUID
    verdict: VoteKind
    quote: Evidence


@dataclass(frozen=True)
class ReflectionProducer:
    """What produced a Reflection or a lesson: the rules or a language model.

    The fields are columns of the Reflection, and keys of each of its lessons.
    """

    producer: str = Producer.RULE
    producer_name: str = "reflector"
    producer_version: str = "1"


@dataclass(frozen=True)
class ModelLessons:
    """The lessons of the model, and its other texts.

    Each text that is not blank replaces the text of the rules.
    """

    producer: ReflectionProducer = ReflectionProducer()
    lessons: tuple[TaskLesson, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    error_identification: str = ""
    root_cause: str = ""
    correct_approach: str = ""
    key_insight: str = ""
    notes: tuple[str, ...] = ()


def reflect(
    run: AceRun,
    task: Task,
    findings: RuleFindings,
    entries: Sequence[PlaybookEntry] = (),
) -> ModelLessons:
    """Ask the model about a task, and about the entries that its agent was given.

    The model cannot change the outcome. On an unknown one, its lessons wait.
    """
    if not model_access.is_enabled(run.project):
        return ModelLessons()
    given = {entry.label: entry for entry in entries[:MAX_GIVEN]}
    try:
        answer = model_call.ask(
            run,
            prompt_files.read("reflector"),
            reflector_prompt.build(task, run.project, findings, list(given.values())),
            answershape(run.project, list(given)),
            purpose=PURPOSE,
            max_tokens=MAX_TOKENS,
        )
    except InferenceError as error:
        return ModelLessons(
            notes=(f"reflector: the rules alone, because: {error.detail}",)
        )
    return _to_model_lessons(
        task, findings, answer.value, model=answer.model, given=given
    )


def answershape(project: Project, labels: Sequence[str] = ()) -> type[ReflectionAnswer]:
    """Return the schema of the answer, with the project's categories and root causes.

    `labels` are those of the entries to judge.
    """
    category = schemas.one_of(project.options.categories)
    code = schemas.one_of(reflector_prompt.root_causes(project))
    lesson: Any = create_model(
        "Lesson",
        __base__=LessonAnswer,
        category=(category, ...),
        root_cause=(code, ...),
    )
    judgement: Any = create_model(
        "Judgement",
        __base__=JudgementAnswer,
        label=(schemas.one_of(labels) if labels else str, ...),
    )
    return create_model(
        "Reflection",
        __base__=ReflectionAnswer,
        root_cause=(code, ...),
        lessons=(list[lesson], ...),
        entries=(list[judgement], ...) if labels else (list[judgement], []),
    )


def _to_model_lessons(
    task: Task,
    findings: RuleFindings,
    answer: ReflectionAnswer,
    *,
    model: str,
    given: Mapping[str, PlaybookEntry],
) -> ModelLessons:
    cuts = Cuts()
    lessons = [
        _lesson(task, findings, lesson, cuts) for lesson in answer.lessons[:MAX_LESSONS]
    ]
    return ModelLessons(
        producer=ReflectionProducer(
            Producer.MODEL, model[:100], prompt_files.read("reflector").version
        ),
        lessons=tuple(lesson for lesson in lessons if lesson),
        judgements=tuple(_judgements(task, answer, given)),
        error_identification=_clip("error_identification", answer, cuts),
        root_cause=answer.root_cause,
        correct_approach=_clip("correct_approach", answer, cuts),
        key_insight=_clip("key_insight", answer, cuts),
        notes=(
            *_dropped_notes(lessons.count(None), len(answer.lessons) - MAX_LESSONS),
            *cuts.notes,
        ),
    )


def _judgements(
    task: Task, answer: ReflectionAnswer, given: Mapping[str, PlaybookEntry]
) -> Iterator[Judgement]:
    """Yield the first judgement on each entry, if it quotes the run and no foreign text."""
    origins = foreign_text.find_origins(task)
    for label, entry in given.items():
        own = [each for each in answer.entries if each.label == label][:1]
        for judged in own:
            quote = QuoteAnswer(field=judged.field, quote=judged.quote)
            for span in _evidence(task, [quote]):
                if not origins.describe(task, "", [span]):
                    yield Judgement(entry.pk, judged.verdict, span)


def _dropped_notes(unquoted: int, beyond: int) -> Iterator[str]:
    if unquoted:
        yield f"reflector: {unquoted} lessons of the model had no quote from the run"
    if beyond > 0:
        yield f"reflector: {beyond} lessons of the model were more than {MAX_LESSONS}"


def _clip(name: str, answer: ReflectionAnswer | LessonAnswer, cuts: Cuts) -> str:
    """Return a sentence of the model within its limit; note a cut."""
    text: str = getattr(answer, name).strip()
    return cuts.clip(f"reflector: {name}", text, MAX_SENTENCE)


def _lesson(
    task: Task, findings: RuleFindings, answer: LessonAnswer, cuts: Cuts
) -> TaskLesson | None:
    """Return the lesson; None if the texts of the run contain none of its quotes."""
    evidence = tuple(dict.fromkeys(_evidence(task, answer.quotes)))
    content = " ".join(answer.content.split())
    if not evidence or not content:
        return None
    return TaskLesson(
        condition=_clip("condition", answer, cuts),
        action=_clip("action", answer, cuts),
        content=content,
        category=answer.category,  # type: ignore[arg-type]  # one of the project's
        root_cause=answer.root_cause,
        evidence=evidence,
        signature=error_signature.build("model", "", None, content),
        confidence=_confidence(task, findings),
        applies_to=applicability.keep_valid(answer.applies_to),
    )


def _confidence(task: Task, findings: RuleFindings) -> float:
    alone = OWN_WORD_CONFIDENCE.get(findings.outcome.value, DEFAULT_CONFIDENCE)
    return CONFIDENCE.get(task.feedback_source, alone)


def _evidence(task: Task, quotes: Sequence[QuoteAnswer]) -> Iterator[Evidence]:
    """Yield each quote that the run contains word for word, and where it is."""
    fields = [*_fields(task)]
    for quote_answer in quotes[:MAX_QUOTES]:
        quote = quote_answer.quote.strip()[:MAX_QUOTE]
        if len(quote) < MIN_QUOTE:
            continue
        # Search the field that the answer names first, then all other fields.
        for field in sorted(fields, key=lambda field: field != quote_answer.field):
            start = task.text(field).find(quote)
            if start >= 0:
                yield spans.make("quote", field, start, start + len(quote), quote)
                break


def _fields(task: Task) -> Iterator[str]:
    yield from ("feedback", "result", "goal")
    for call in task.calls:
        yield from (call.result_field, call.arguments_field, call.name_field)

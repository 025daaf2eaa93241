"""Ask a language model how each lesson changes the playbook entries like it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from pydantic import BaseModel, create_model, model_validator

from ace.model_calls import model_call, prompt_files
from ace.models import AceRun
from common.text.plain_text import clip
from common.text.quote import exact_json, json_string
from inference.errors import InferenceError
from inference.language import schemas
from inference.language.fence import FencedText, fence_texts
from playbook.entries import neighbours
from playbook.learning.model_placement import Choice, Placement, PlacementTarget
from playbook.models import PlaybookEntry

PURPOSE = "curator"
MAX_TOKENS = 2_500  # of an answer that rewrites half of MAX_LESSONS lessons
MAX_NEIGHBOURS = 10  # similar entries shown for each lesson
MAX_LESSONS = 10  # lessons in one question
MIN_SIMILARITY = -1.0  # the lowest cosine, so that no entry is too far away
MAX_REASON = 500  # characters


class PlacementAnswer(BaseModel):
    """The answer for one lesson. `answer_shape` adds the list of allowed labels."""

    operation: Choice
    targets: list[str]
    content: str
    reason: str

    @model_validator(mode="after")
    def check_targets(self) -> Self:
        count = len(set(self.targets))
        if count != len(self.targets):
            raise ValueError("a target is named twice")
        if self.operation in ("update", "deprecate") and count != 1:
            raise ValueError(f"{self.operation} needs exactly one target")
        if self.operation == "merge" and count < 2:
            raise ValueError("merge needs two targets or more")
        if self.operation == "update" and not self.content.strip():
            raise ValueError("update needs a content")
        return self


@dataclass(frozen=True)
class ModelPlacements:
    """The model's choice for each lesson; None where the rules decide.

    `notes` say why the model did not answer.
    """

    placements: tuple[dict[str, Any] | None, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class LessonCandidate:
    """A lesson, and the similar entries that the lesson may change."""

    number: int
    lesson: Mapping[str, Any]
    entries: Sequence[PlaybookEntry]

    @property
    def key(self) -> str:
        return f"lesson_{self.number + 1}"


def place(run: AceRun, lessons: Sequence[Mapping[str, Any]]) -> ModelPlacements:
    """Ask the model about each lesson that has similar entries.

    The other lessons get None: each becomes a new entry.
    """
    nothing = ModelPlacements((None,) * len(lessons))
    candidates = _candidates(run, lessons[:MAX_LESSONS])
    if not candidates:
        return nothing
    try:
        answer = model_call.ask(
            run,
            prompt_files.read("curator"),
            _prompt(candidates),
            answer_shape(candidates),
            purpose=PURPOSE,
            max_tokens=MAX_TOKENS,
        )
    except InferenceError as error:
        note = f"curator: the rules alone, because: {error.detail}"
        return ModelPlacements(nothing.placements, (note,))
    choices = {
        candidate.number: _to_placement(candidate, answer.value, answer.model)
        for candidate in candidates
    }
    return ModelPlacements(tuple(choices.get(number) for number in range(len(lessons))))


def _candidates(
    run: AceRun, lessons: Sequence[Mapping[str, Any]]
) -> list[LessonCandidate]:
    """Return each lesson that has similar entries, together with these entries.

    Return an empty list while the embedding model is unavailable.
    """
    vectors = neighbours.embed_texts([lesson["content"] for lesson in lessons]) or []
    found = []
    for number, (lesson, vector) in enumerate(zip(lessons, vectors, strict=False)):
        near = neighbours.find_nearest(
            run.project_id, vector, top=MAX_NEIGHBOURS, threshold=MIN_SIMILARITY
        )
        if near:
            found.append(
                LessonCandidate(number, lesson, [candidate.entry for candidate in near])
            )
    return found


def answer_shape(candidates: Sequence[LessonCandidate]) -> type[BaseModel]:
    """Return the schema of the answer, which has a key for each lesson.

    The answer for a lesson may name only the similar entries of that lesson.
    """
    fields: dict[str, Any] = {}
    for candidate in candidates:
        label: Any = schemas.one_of([entry.label for entry in candidate.entries])
        placement = create_model(
            f"Placement{candidate.number + 1}",
            __base__=PlacementAnswer,
            targets=(list[label], ...),
        )
        fields[candidate.key] = (placement, ...)
    shape: type[BaseModel] = create_model("Placements", **fields)
    return shape


def _prompt(candidates: Sequence[LessonCandidate]) -> str:
    parts = [part for candidate in candidates for part in prompt_parts(candidate)]
    keys = ", ".join(candidate.key for candidate in candidates)
    return f"{fence_texts(parts)}\n\nChoose an operation for each of: {keys}."


def prompt_parts(candidate: LessonCandidate) -> list[FencedText]:
    lesson = candidate.lesson
    quotes = [f"- {exact_json(span['quote'])}" for span in lesson["evidence"]]
    text = "\n".join([exact_json(lesson["content"]), "Its quotes:", *quotes])
    rules = "\n".join(_line(entry) for entry in candidate.entries)
    return [
        FencedText(candidate.key, text),
        FencedText(f"rules near {candidate.key}", rules),
    ]


def _line(entry: PlaybookEntry) -> str:
    marks = [f"helpful={entry.helpful}", f"harmful={entry.harmful}"]
    if entry.locked:
        marks.append("locked")
    if entry.author_kind == PlaybookEntry.Author.HUMAN:
        marks.append("written by a person")
    content = json_string(entry.content, None)
    return f"[{entry.label}] {' '.join(marks)} :: {content}"


def _to_placement(
    candidate: LessonCandidate, answer: BaseModel, model: str
) -> dict[str, Any] | None:
    """Return the choice as the Reflection stores it; None for a new entry."""
    choice: PlacementAnswer = getattr(answer, candidate.key)
    entries = {entry.label: entry for entry in candidate.entries}
    if choice.operation == "add" or not entries.keys() >= set(choice.targets):
        return None
    # The model must not drop a lesson that the rules found.
    if choice.operation == "none" and candidate.lesson["producer"] != "model":
        return None
    placement = Placement(
        operation=choice.operation,
        targets=tuple(
            PlacementTarget(entries[label].pk, entries[label].version)
            for label in choice.targets
        ),
        content=choice.content.strip() if choice.operation == "update" else "",
        reason=clip(" ".join(choice.reason.split()), MAX_REASON),
        producer_name=model[:100],
        producer_version=prompt_files.read("curator").version,
    )
    return to_json(placement)


def to_json(placement: Placement) -> dict[str, Any]:
    data = asdict(placement)
    data["targets"] = [
        {"entry_id": str(target.entry_id), "version": target.version}
        for target in placement.targets
    ]
    return data


def from_json(data: Mapping[str, Any] | None) -> Placement | None:
    if data is None:
        return None
    targets = (
        PlacementTarget(uuid.UUID(t["entry_id"]), t["version"]) for t in data["targets"]
    )
    return Placement(**{**data, "targets": tuple(targets)})

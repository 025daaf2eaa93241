"""What a language model says lessons are to the entries that stand near them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from pydantic import BaseModel, create_model, model_validator

from ace.model_calls import model_call, prompt_files
from ace.models import AceRun
from common.text.plain_text import clip
from inference.errors import InferenceError
from inference.language import schemas
from inference.language.fence import FencedText, fence_texts
from playbook.entries import neighbours
from playbook.learning.model_placement import Choice, Placement, PlacementTarget
from playbook.models import PlaybookEntry

PURPOSE = "curator"
MAX_TOKENS = 2_500  # of an answer for MOST lessons, half of them rewritten
MAX_NEIGHBOURS = 10  # entries for each lesson
MAX_LESSONS = 10  # lessons of one question
MIN_SIMILARITY = -1.0  # a cosine: the nearest ten, however far they are
MAX_REASON = 500  # characters


class PlacementAnswer(BaseModel):
    """The answer for one lesson; its enum of labels is added to it."""

    operation: Choice
    targets: list[str]
    content: str
    reason: str

    @model_validator(mode="after")
    def has_what_it_needs(self) -> Self:
        named = len(set(self.targets))
        if named != len(self.targets):
            raise ValueError("a target is named twice")
        if self.operation in ("update", "deprecate") and named != 1:
            raise ValueError(f"{self.operation} needs exactly one target")
        if self.operation == "merge" and named < 2:
            raise ValueError("merge needs two targets or more")
        if self.operation == "update" and not self.content.strip():
            raise ValueError("update needs a content")
        return self


@dataclass(frozen=True)
class ModelPlacements:
    """For each lesson what the model chose, None where the rules place it, and why."""

    placements: tuple[dict[str, Any] | None, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class LessonCandidate:
    """A lesson with the entries that it may touch."""

    number: int
    lesson: Mapping[str, Any]
    near: Sequence[PlaybookEntry]

    @property
    def key(self) -> str:
        return f"lesson_{self.number + 1}"


def place(run: AceRun, lessons: Sequence[Mapping[str, Any]]) -> ModelPlacements:
    """Ask about the lessons that have neighbours; the others are additions."""
    nothing = ModelPlacements((None,) * len(lessons))
    asked = _candidates(run, lessons[:MAX_LESSONS])
    if not asked:
        return nothing
    try:
        answer = model_call.ask(
            run,
            prompt_files.read("curator"),
            _prompt(asked),
            answer_shape(asked),
            purpose=PURPOSE,
            max_tokens=MAX_TOKENS,
        )
    except InferenceError as error:
        note = f"curator: the rules alone, because: {error.detail}"
        return ModelPlacements(nothing.placements, (note,))
    chosen = {
        each.number: _to_placement(each, answer.value, answer.model) for each in asked
    }
    return ModelPlacements(tuple(chosen.get(number) for number in range(len(lessons))))


def _candidates(
    run: AceRun, lessons: Sequence[Mapping[str, Any]]
) -> list[LessonCandidate]:
    """None without vectors: an embedding model that is away hides the neighbours."""
    vectors = neighbours.embed_texts([lesson["content"] for lesson in lessons]) or []
    found = []
    for number, (lesson, vector) in enumerate(zip(lessons, vectors, strict=False)):
        near = neighbours.find_nearest(
            run.project_id, vector, top=MAX_NEIGHBOURS, threshold=MIN_SIMILARITY
        )
        if near:
            found.append(LessonCandidate(number, lesson, [each.entry for each in near]))
    return found


def answer_shape(asked: Sequence[LessonCandidate]) -> type[BaseModel]:
    """A key for each lesson; its targets are an enum of the entries near it."""
    fields: dict[str, Any] = {}
    for each in asked:
        label: Any = schemas.one_of([entry.label for entry in each.near])
        placement = create_model(
            f"Placement{each.number + 1}",
            __base__=PlacementAnswer,
            targets=(list[label], ...),
        )
        fields[each.key] = (placement, ...)
    made: type[BaseModel] = create_model("Placements", **fields)
    return made


def _prompt(asked: Sequence[LessonCandidate]) -> str:
    parts = [part for each in asked for part in _parts(each)]
    keys = ", ".join(each.key for each in asked)
    return f"{fence_texts(parts)}\n\nChoose an operation for each of: {keys}."


def _parts(each: LessonCandidate) -> list[FencedText]:
    quotes = [f"- {span['quote']}" for span in each.lesson["evidence"]]
    told = "\n".join([each.lesson["content"], "Its quotes:", *quotes])
    rules = "\n".join(_line(entry) for entry in each.near)
    return [FencedText(each.key, told), FencedText(f"rules near {each.key}", rules)]


def _line(entry: PlaybookEntry) -> str:
    marks = [f"helpful={entry.helpful}", f"harmful={entry.harmful}"]
    if entry.locked:
        marks.append("locked")
    if entry.author_kind == PlaybookEntry.Author.HUMAN:
        marks.append("written by a person")
    content = " ".join(entry.content.split())
    return f"[{entry.label}] {' '.join(marks)} :: {content}"


def _to_placement(
    each: LessonCandidate, answer: BaseModel, model: str
) -> dict[str, Any] | None:
    """As the Reflection keeps it; None when there is nothing to do but add."""
    said: PlacementAnswer = getattr(answer, each.key)
    entries = {entry.label: entry for entry in each.near}
    if said.operation == "add" or not entries.keys() >= set(said.targets):
        return None
    # What the rules have found is not the model's to drop.
    if said.operation == "none" and each.lesson["producer"] != "model":
        return None
    placement = Placement(
        operation=said.operation,
        targets=tuple(
            PlacementTarget(entries[label].pk, entries[label].version)
            for label in said.targets
        ),
        content=said.content.strip() if said.operation == "update" else "",
        reason=clip(" ".join(said.reason.split()), MAX_REASON),
        producer_name=model[:100],
        producer_version=prompt_files.read("curator").version,
    )
    return to_json(placement)


def to_json(placement: Placement) -> dict[str, Any]:
    held = asdict(placement)
    held["targets"] = [
        {"entry_id": str(target.entry_id), "version": target.version}
        for target in placement.targets
    ]
    return held


def from_json(held: Mapping[str, Any] | None) -> Placement | None:
    if held is None:
        return None
    targets = (
        PlacementTarget(uuid.UUID(t["entry_id"]), t["version"]) for t in held["targets"]
    )
    return Placement(**{**held, "targets": tuple(targets)})

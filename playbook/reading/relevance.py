"""Measure which entries are relevant to a task."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Case, Exists, F, OuterRef, Value, When
from pgvector.django import CosineDistance

from common.text import question_focus
from inference.embedding import active_model
from inference.embedding.vector import Vector
from inference.errors import InferenceError
from playbook.models import EntryVector
from playbook.queries import EntryQuerySet
from playbook.rule_text import applicability
from playbook.rule_text.applicability import Surroundings
from projects.models import Project

# The smallest cosine at which an entry with as many helpful as harmful votes is relevant.
# An answer is relevant only to its own question. The values were measured with `benchmark
# learning`, which asked its questions in different orders: below 0.65 a playbook of 50 tasks
# does harm. The nearest of many answers is more often right: each doubling of their number
# takes GATE_STEP off the gate. Without it, answers to questions about new names were lost.
ANSWER_GATE, FEW_ANSWERS, GATE_STEP, LEAST_GATE = 0.67, 50, 0.03, 0.5
# The words of a rule differ from the words of its tasks. The value was measured with
# `benchmark relevance`: three of four relevant rules reach this cosine, and only 2 of the
# 367 other rules do.
RULE_GATE = 0.30
# The share of a gate that full confidence subtracts and that no confidence adds. Votes
# only move the gate. Hiding entries because of their votes cost 2 points, and poisoned
# feedback then did more harm.
TRUST_SHARE = 0.3
# The end of a lesson that corrects an answer.
_ANSWER = r"\manswer `[^`\n]+`\.?$"
_ENDS_IN_ANSWER = re.compile(r"\banswer `[^`\n]+`\.?\Z")


@dataclass(frozen=True)
class Relevance:
    """The cosine of an entry to a task, and whether the entry is relevant to the task.

    `lead` is the cosine minus the gate. Entries are ordered by `lead`, so that helpful
    votes make up for a lower cosine. An entry about a tool or path of the task is relevant
    at any cosine; `match` says which it is. `language` is the language of the task that the
    entry is about, which alone makes it relevant to no task.
    """

    similarity: float
    is_relevant: bool
    lead: float = 0.0
    match: str = ""
    language: str = ""


@dataclass(frozen=True)
class Relevances:
    by_id: Mapping[uuid.UUID, Relevance] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def measure(
    project: Project,
    rows: EntryQuerySet,
    task: str,
    around: Surroundings | None = None,
) -> Relevances:
    """For each active entry in `rows` that has a vector, measure the relevance to a task.

    `around` are the tools, paths and languages of the task, or None for those that its
    words name. If the task quotes the question that it asks, only the question is
    compared, because lessons are learned from the question. If the model does not answer,
    no relevances are returned, and a note says why.
    """
    found = question_focus.find_focus(task)
    try:
        vector = active_model.embed_query(found.words if found else task)
    except InferenceError as error:
        return Relevances(notes=(f"no relevance: {error}",))
    around = around or applicability.read_surroundings(task)
    best: dict[uuid.UUID, Relevance] = {}
    for pk, relevance in _measure_rows(project, rows, vector, around):
        if pk not in best or relevance.lead > best[pk].lead:
            best[pk] = relevance  # by its nearest chunk
    return Relevances(best)


def _measure_rows(
    project: Project,
    rows: EntryQuerySet,
    vector: Vector,
    around: Surroundings,
) -> Iterator[tuple[uuid.UUID, Relevance]]:
    same = rows.current().order_by().filter(pk=OuterRef("entry_id"))
    found = (
        EntryVector.objects.filter(
            Exists(same), project_id=project.pk, model=vector.model
        )
        .order_by()
        .annotate(
            distance=CosineDistance("embedding", list(vector)),
            is_answer=Case(
                When(entry__content__regex=_ANSWER, then=True), default=Value(False)
            ),
            helpful=F("entry__helpful"),
            harmful=F("entry__harmful"),
            applies_to=F("entry__applies_to"),
        )
    )
    scale = active_model.scale_of(vector.model)
    columns = ("entry_id", "distance", "is_answer", "applies_to")
    rows_found = list(found.values_list(*columns, "helpful", "harmful"))
    of_answers = answer_gate(sum(is_answer for _, _, is_answer, *_ in rows_found))
    for pk, distance, is_answer, applies_to, *votes in rows_found:
        similarity = round(scale.similarity(1 - distance), 4)
        base = of_answers if is_answer else RULE_GATE
        least = required_cosine(base, *votes)
        yield pk, _judge(applies_to, similarity, around, least)


def _judge(
    applies_to: Sequence[str],
    similarity: float,
    around: Surroundings,
    least: float,
) -> Relevance:
    """Say whether a rule that must reach the cosine `least` is relevant at `similarity`."""
    match = applicability.find_match(applies_to, around)
    lead = round(similarity - least, 4)
    language = applicability.find_language(applies_to, around)
    return Relevance(similarity, lead >= 0 or bool(match), lead, match, language)


def without_answers(rows: EntryQuerySet) -> EntryQuerySet:
    """Leave out the entries that answer one question; they say nothing to another one."""
    kept: EntryQuerySet = rows.exclude(content__regex=_ANSWER)
    return kept


def judge_text(
    content: str, applies_to: Sequence[str], similarity: float, around: Surroundings
) -> Relevance:
    """Say whether a rule without votes would be relevant to a task, as `measure` does."""
    base = ANSWER_GATE if is_answer(content) else RULE_GATE
    least = required_cosine(base, 0, 0)
    return _judge(applies_to, similarity, around, least)


def is_answer(content: str) -> bool:
    """Whether a rule is the answer to one question."""
    return bool(_ENDS_IN_ANSWER.search(content))


def answer_gate(count: int) -> float:
    """Return the gate of answers in a playbook that has so many of them."""
    doublings = math.log2(max(count, FEW_ANSWERS) / FEW_ANSWERS)
    return max(ANSWER_GATE - GATE_STEP * doublings, LEAST_GATE)


def required_cosine(base: float, helpful: int, harmful: int) -> float:
    """Return the cosine that an entry with these votes must reach."""
    confidence = (helpful + 1) / (helpful + harmful + 2)
    return base * (1 + TRUST_SHARE * (1 - 2 * confidence))

"""Find the rules that a finished task is about, and those that its memory supports."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from ace import credit, named_rules
from ace.models import AceRun
from ace.task.task import Task
from ace.task.task_outcome import TaskOutcome
from common.text import sentences
from common.text.same_text import is_same
from inference.embedding import active_model
from inference.embedding.vector import Vector
from inference.errors import InferenceError
from playbook.lessons.lesson import Kind, Lesson
from playbook.models import PlaybookEntry
from playbook.queries import EntryQuerySet
from search import fuse, relevance, semantic
from search.relevance import HitSignals

MAX_RELATED = 5
MAX_LESSONS, MAX_SENTENCES = 5, 20  # of a task, that are compared with rules
MAX_TEXT = 2_000  # characters of a text that are searched for

Cosines = dict[uuid.UUID, float]


@dataclass(frozen=True)
class RelatedRules:
    """The rules that a task is about with their cosines, the nearest first.

    `supported` are the rules that the memory of the task supports.
    """

    cosines: Cosines
    supported: tuple[uuid.UUID, ...]


def find(run: AceRun, outcome: TaskOutcome, lessons: Sequence[Lesson]) -> RelatedRules:
    """Find what the goal, the result, the feedback and the lessons of a run are about.

    A rule is about a text if it answers a search for the text (`search.relevance`).
    """
    task = run.task
    live = PlaybookEntry.objects.current().filter(project=run.project)
    taught = [lesson.content for lesson in lessons[:MAX_LESSONS]]
    searched = _search(live, [task.goal, task.result, task.feedback, *taught])
    best: Cosines = {}
    for cosines in searched.values():
        for pk, cosine in cosines.items():
            best[pk] = max(cosine, best.get(pk, 0.0))
    nearest = sorted(best, key=lambda pk: (-best[pk], pk))[:MAX_RELATED]
    of_feedback = searched.get(task.feedback, {})
    return RelatedRules(
        {pk: round(best[pk], 4) for pk in nearest},
        tuple(
            _supported(run, outcome, lessons, live.light().in_bulk(best), of_feedback)
        ),
    )


def _supported(
    run: AceRun,
    outcome: TaskOutcome,
    lessons: Sequence[Lesson],
    about: dict[uuid.UUID, PlaybookEntry],
    of_feedback: Cosines,
) -> list[uuid.UUID]:
    """Return the rules that the task cites, or was given and followed, or says again.

    What a person says of the subject of a rule in other words may be the opposite.
    """
    if outcome.value == "failure":
        return []
    said = _said(run.task, lessons)
    same = {pk for pk, rule in about.items() if _is_said(rule.content, said)}
    cited = named_rules.find(run.project, run.request, named_rules.CITED)
    used = {rule.pk for rule in [*cited, *credit.find_followed(run)] if rule.is_live}
    opposed = set(of_feedback) - same if run.task.is_told_by_person else set()
    return sorted((used | same) - opposed)


def _said(task: Task, lessons: Sequence[Lesson]) -> list[str]:
    """Return the repairs that the task shows, and the sentences of the feedback."""
    repairs = [lesson.content for lesson in lessons if lesson.kind == Kind.FIX]
    spans = islice(sentences.split(task.feedback), MAX_SENTENCES)
    return [*repairs, *(task.feedback[start:end] for start, end in spans)]


def _is_said(content: str, texts: Sequence[str]) -> bool:
    return any(is_same(content, text) for text in texts)


def _search(rules: EntryQuerySet, texts: Sequence[str]) -> dict[str, Cosines]:
    """Return the rules that answer a search for each text.

    There are none if the embedding model does not answer.
    """
    asked = [text for text in dict.fromkeys(texts) if text.strip()]
    count = rules.count() if asked else 0
    if not count:
        return {}
    try:
        vectors = active_model.embed([text[:MAX_TEXT] for text in asked])
    except InferenceError:
        return {}
    return {
        text: _relevant(rules, vector, count, len(text.split()))
        for text, vector in zip(asked, vectors, strict=True)
    }


def _relevant(rules: EntryQuerySet, vector: Vector, count: int, words: int) -> Cosines:
    cosines = semantic.exact_cosines(rules, vector)
    least = relevance.least_evidence(count, is_long=words > fuse.LONG_QUERY)
    signals = [HitSignals(0.0, cosine, cosine) for cosine in cosines.values()]
    found = zip(cosines, relevance.find_relevant(signals, least), strict=True)
    return {pk: cosines[pk] for pk, is_relevant in found if is_relevant}

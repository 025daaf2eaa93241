"""Find the rules that a finished task is about, and those that its memory supports."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from ace import credit, named_rules
from ace.models import AceRun
from ace.task.task_outcome import TaskOutcome
from common.text import sentences
from common.text.same_text import hash_text, is_same
from inference.embedding import active_model
from inference.embedding.vector import Vector
from inference.errors import InferenceError
from playbook.lessons.lesson import Kind, Lesson
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.queries import STATES_LESSON, EntryQuerySet
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
    told = _sentences(task.feedback) if task.is_told_by_person else []
    searched = _search(live, [task.goal, task.result, task.feedback, *taught, *told])
    best: Cosines = {}
    for cosines in searched.values():
        for pk, cosine in cosines.items():
            best[pk] = max(cosine, best.get(pk, 0.0))
    nearest = sorted(best, key=lambda pk: (-best[pk], pk))[:MAX_RELATED]
    about = live.light().in_bulk(best)
    opposed = {
        pk
        for sentence in told
        for pk in searched.get(sentence, ())
        if not is_same(about[pk].content, sentence)
    }
    supported = set() if outcome.value == "failure" else _supported(run, lessons, about)
    return RelatedRules(
        {pk: round(best[pk], 4) for pk in nearest}, tuple(sorted(supported - opposed))
    )


def _supported(
    run: AceRun, lessons: Sequence[Lesson], about: dict[uuid.UUID, PlaybookEntry]
) -> set[uuid.UUID]:
    """Return the rules that the task cites, or was given and followed, or shows or says again.

    What a person says of the subject of a rule in other words may be the opposite.
    """
    task = run.task
    said = _sentences("\n".join([task.goal, task.result, task.feedback]))
    said += [quote.quote for lesson in lessons for quote in lesson.quotes]
    repairs = [lesson.content for lesson in lessons if lesson.kind == Kind.FIX]
    cited = named_rules.find(run.project, run.request, named_rules.CITED)
    used = [*cited, *credit.find_followed(run), *_find_rules_of_repairs(run, repairs)]
    return {rule.pk for rule in used if rule.is_live} | {
        pk
        for pk, rule in about.items()
        if any(is_same(rule.content, text) for text in (*repairs, *said))
    }


def _find_rules_of_repairs(run: AceRun, repairs: Sequence[str]) -> list[PlaybookEntry]:
    """Return the rules that were learned of the same failed call and the same cure.

    Somebody may have changed their words since.
    """
    if not repairs:
        return []
    learned = PlaybookDelta.objects.filter(
        project=run.project,
        similarity_hash__in=[hash_text(content) for content in repairs],
        status__in=PlaybookDelta.IN_FORCE,
        operation__in=STATES_LESSON,
    )
    rows = PlaybookEntry.objects.filter(pk__in=learned.order_by().values("entry"))
    return list(rows.light())


def _sentences(text: str) -> list[str]:
    spans = islice(sentences.split(text), MAX_SENTENCES)
    return [text[start:end] for start, end in spans]


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

"""Find the entries whose vectors are nearest to a text."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from common.text import same_text
from inference.embedding import active_model
from inference.embedding.vector import Vector
from inference.errors import InferenceError
from playbook.models import PlaybookEntry
from playbook.queries import EntryQuerySet
from projects.models import Project
from search import semantic

# For the cosines see docs/playbook.md, "What the curator does with a lesson". From
# MERGE_COSINE on, two texts are one rule unless they disagree. From ALIKE_COSINE on, a
# person decides.
MERGE_COSINE = 0.90
ALIKE_COSINE = 0.70
# Number of neighbours to compare. The nearest neighbour may disagree with the text while
# the next neighbour says the same.
MAX_NEIGHBOURS = 5


@dataclass(frozen=True)
class Neighbour:
    """An entry, and the cosine between the entry and the text."""

    entry: PlaybookEntry
    similarity: float


def embed_texts(lines: Sequence[str]) -> list[Vector] | None:
    """Return the vectors of texts, or None if the model does not answer."""
    try:
        return active_model.embed(lines) if lines else []
    except InferenceError:
        return None


def embed_text(text: str) -> Vector | None:
    vectors = embed_texts([text])
    return vectors[0] if vectors else None


def find_exact(project_id: uuid.UUID, text: str) -> PlaybookEntry | None:
    """Find the active entry with the same text (`same_text.hash_text`)."""
    found: PlaybookEntry | None = (
        PlaybookEntry.objects.current()
        .light()
        .filter(project_id=project_id, similarity_hash=same_text.hash_text(text))
        .first()
    )
    return found


def find_nearest(
    project_id: uuid.UUID,
    vector: Vector,
    *,
    top: int = MAX_NEIGHBOURS,
    threshold: float = ALIKE_COSINE,
    without: Collection[uuid.UUID] = (),
) -> list[Neighbour]:
    """Find the active entries whose cosine is at least the given minimum, nearest first."""
    rows = PlaybookEntry.objects.current().filter(project_id=project_id)
    return nearest_in(rows.exclude(pk__in=without), vector, top, threshold)


def nearest_in(
    rows: EntryQuerySet, vector: Vector, top: int, threshold: float
) -> list[Neighbour]:
    scores = semantic.exact_cosines(rows, vector)
    best = [pk for pk, score in scores.items() if score >= threshold][:top]
    entries = PlaybookEntry.objects.light().in_bulk(best)
    return [Neighbour(entries[pk], round(scores[pk], 4)) for pk in best]


def find_related(project: Project, text: str) -> list[Neighbour]:
    """Find the entries near a task's text.

    Return no entries if the model does not answer.
    """
    vector = embed_text(text)
    if not vector:
        return []
    return find_nearest(project.pk, vector)

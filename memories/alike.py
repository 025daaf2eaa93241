"""What stands near a memory, and whether it says the same."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from pgvector.django import CosineDistance

from common.db import Statement
from inference.embedding.vector import Vector
from memories import disagreement
from memories.models import Memory, MemoryVector, PossibleDuplicate
from projects.models import Project
from search import near as search_near
from search.near import Neighbours
from search.semantic import Scores

# Neighbours looked at: the nearest may be guarded while the next is a duplicate.
NEIGHBOURS = 5


@dataclass(frozen=True)
class Likeness:
    """A neighbour above the threshold; `why_not_merged` says what guards it."""

    memory: Memory
    similarity: float
    why_not_merged: str | None


@dataclass(frozen=True)
class Verdict:
    """The original that a memory repeats, if any, and the ones it only resembles."""

    original: Likeness | None
    doubts: tuple[Likeness, ...] = ()


NO_VERDICT = Verdict(None)


def peers(memory: Memory) -> Any:
    """What may be the original of a memory.

    Current, not expired, of the same project, scope, sensitivity and key.
    """
    return (
        Memory.objects.current()
        .filter(
            project_id=memory.project_id,
            scope_hash=memory.scope_hash,
            sensitivity=memory.sensitivity,
            key=memory.key,
        )
        .exclude(pk=memory.pk)
    )


def is_compared(memory: Memory) -> bool:
    """Whether it may repeat another one: a fact with a key is compared by that alone."""
    return not (memory.kept_apart or memory.is_keyed_fact)


def looking(project: Project, vectors: Sequence[Vector]) -> Statement:
    """The statement that finds what of a project is near vectors, for `judge`."""
    threshold = project.options.dedup.threshold
    return search_near.neighbours_statement(
        Memory, vectors, project_id=project.pk, threshold=threshold
    )


def judge(
    memory: Memory,
    vector: Vector,
    close: Neighbours,
    stored: Sequence[tuple[Memory, Vector]],
) -> Verdict:
    """Compare a new memory with what was close to it, and with what was stored since."""
    threshold = memory.project.options.dedup.threshold
    cosines = {other.pk: vector.cosine(theirs) for other, theirs in stored}
    since = {pk: cosine for pk, cosine in cosines.items() if cosine >= threshold}
    return weigh(memory, vector, threshold=threshold, close=close.beside(since))


def judge_all(
    project: Project, embedded: Sequence[tuple[Memory, Vector]]
) -> Iterator[tuple[Memory, Verdict]]:
    """Judge stored memories, one after the other; what became of one counts for the next.

    Each is compared with those before it, not with those behind.
    """
    options = project.options.dedup
    if not options.enabled:
        return
    behind = {memory.pk for memory, _ in embedded}
    found = near_each(project.pk, embedded, threshold=options.threshold)
    for memory, vector, close in found:
        behind.discard(memory.pk)
        among = Memory.objects.exclude(pk__in=behind)
        yield (
            memory,
            weigh(
                memory, vector, threshold=options.threshold, among=among, close=close
            ),
        )


def weigh(
    memory: Memory,
    vector: Vector,
    *,
    threshold: float,
    among: Any = None,
    close: Neighbours | None = None,
) -> Verdict:
    """Compare a memory with its nearest peers (REQ-MEM-DEDUP-001).

    Similarity alone merges opposites, so a guard must find no disagreement. `among`
    narrows the peers; `close` is what is near in the project, when that is known.
    """
    if not is_compared(memory):
        return NO_VERDICT
    close = close or near(memory.project_id, [vector], threshold=threshold)[0]
    if close.is_empty:
        return NO_VERDICT
    rows = peers(memory) if among is None else among & peers(memory)
    alike = neighbours(memory, vector, rows, threshold=threshold, close=close)
    if merged := _first_unguarded(alike):
        return Verdict(merged)
    return Verdict(None, tuple(alike))


def near(
    project_id: uuid.UUID, vectors: Sequence[Vector], *, threshold: float
) -> list[Neighbours]:
    """What of a project is at or above a cosine, for each vector."""
    return search_near.find_neighbours(
        Memory, vectors, project_id=project_id, threshold=threshold
    )


def near_each(
    project_id: uuid.UUID,
    embedded: Sequence[tuple[Memory, Vector]],
    *,
    threshold: float,
) -> Iterator[tuple[Memory, Vector, Neighbours]]:
    """The stored memories that have others near them, each with what is near."""
    found = near(project_id, [vector for _, vector in embedded], threshold=threshold)
    for (memory, vector), close in zip(embedded, found, strict=True):
        others = close.without(memory.pk)
        if not others.is_empty:
            yield memory, vector, others


def neighbours(
    memory: Memory, vector: Vector, rows: Any, *, threshold: float, close: Neighbours
) -> list[Likeness]:
    """The nearest of its peers at or above a cosine, nearest first, each guarded.

    The project's nearest rows are asked first. Where they are not all that are so
    near, and those that are peers decide nothing, every peer is compared. A pair that
    a person decided about is not brought up again.
    """
    rows = rows.exclude(pk__in=_settled(memory))
    alike = _guarded(memory, rows.filter(pk__in=list(close.scores)), close.scores)
    if close.is_all or len(alike) == NEIGHBOURS or _first_unguarded(alike):
        return alike
    scores = _exact(rows, vector, memory.project_id, threshold)
    return _guarded(memory, rows.filter(pk__in=list(scores)), scores)


def _settled(memory: Memory) -> set[uuid.UUID]:
    decided = PossibleDuplicate.objects.filter(
        Q(memory=memory) | Q(other=memory)
    ).exclude(state=PossibleDuplicate.State.OPEN)
    pairs = decided.values_list("memory", "other")
    return {pk for pair in pairs for pk in pair} - {memory.pk}


def _exact(
    rows: Any, vector: Vector, project_id: uuid.UUID, threshold: float
) -> Scores:
    """The nearest of these rows, by an exact scan of the project's vectors."""
    found = (
        MemoryVector.objects.filter(
            project_id=project_id, model=vector.model, memory__in=rows
        )
        .annotate(distance=CosineDistance("embedding", list(vector)))
        .order_by("distance", "memory_id")
        .values_list("memory_id", "distance")[:NEIGHBOURS]
    )
    return {pk: 1 - distance for pk, distance in found if 1 - distance >= threshold}


def _guarded(memory: Memory, rows: Any, scores: Scores) -> list[Likeness]:
    found = {row.pk: row for row in rows.light()}
    nearest = [pk for pk in scores if pk in found][:NEIGHBOURS]
    return [likeness(memory, found[pk], scores[pk]) for pk in nearest]


def _first_unguarded(alike: Sequence[Likeness]) -> Likeness | None:
    return next((near for near in alike if near.why_not_merged is None), None)


def likeness(memory: Memory, other: Memory, similarity: float) -> Likeness:
    """What a cosine above the threshold says of two memories, once it is guarded."""
    return Likeness(
        memory=other,
        similarity=round(similarity, 4),
        why_not_merged=disagreement.reason_to_keep_apart(memory.content, other.content),
    )

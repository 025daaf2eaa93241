"""What stands near a memory, and whether it says the same."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from pgvector.django import CosineDistance

from common.db import Statement
from common.text.contradiction import disagreement
from inference.embedding.vector import Vector
from memories.models import Memory, MemoryVector, PossibleDuplicate
from projects.models import Project
from search import near as search_near
from search.near import Neighbours
from search.semantic import Scores

# Neighbours looked at: the nearest may be guarded while the next is a duplicate.
MAX_NEIGHBOURS = 5


@dataclass(frozen=True)
class Similarity:
    """A neighbour above the threshold; `why_not_merged` says what guards it."""

    memory: Memory
    similarity: float
    why_not_merged: str | None


@dataclass(frozen=True)
class Verdict:
    """The original that a memory repeats, if any, and the ones it only resembles."""

    original: Similarity | None
    doubts: tuple[Similarity, ...] = ()


NO_VERDICT = Verdict(None)


def candidates(memory: Memory) -> Any:
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


def is_comparable(memory: Memory) -> bool:
    """Whether it may repeat another one: a fact with a key is compared by that alone."""
    return not (memory.kept_apart or memory.is_keyed_fact)


def probe(project: Project, vectors: Sequence[Vector]) -> Statement:
    """The statement that finds what of a project is near vectors, for `judge`."""
    threshold = project.options.dedup.threshold
    return search_near.neighbours_statement(
        Memory, vectors, project_id=project.pk, threshold=threshold
    )


def compare_new(
    memory: Memory,
    vector: Vector,
    close: Neighbours,
    stored: Sequence[tuple[Memory, Vector]],
) -> Verdict:
    """Compare a new memory with what was close to it, and with what was stored since."""
    threshold = memory.project.options.dedup.threshold
    cosines = {other.pk: vector.cosine(theirs) for other, theirs in stored}
    since = {pk: cosine for pk, cosine in cosines.items() if cosine >= threshold}
    return compare(memory, vector, threshold=threshold, close=close.beside(since))


def compare_stored(
    project: Project, embedded: Sequence[tuple[Memory, Vector]]
) -> Iterator[tuple[Memory, Verdict]]:
    """Judge stored memories, one after the other; what became of one counts for the next.

    Each is compared with those before it, not with those behind.
    """
    options = project.options.dedup
    if not options.enabled:
        return
    behind = {memory.pk for memory, _ in embedded}
    found = find_near_each(project.pk, embedded, threshold=options.threshold)
    for memory, vector, close in found:
        behind.discard(memory.pk)
        among = Memory.objects.exclude(pk__in=behind)
        yield (
            memory,
            compare(
                memory, vector, threshold=options.threshold, among=among, close=close
            ),
        )


def compare(
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
    if not is_comparable(memory):
        return NO_VERDICT
    close = close or find_near(memory.project_id, [vector], threshold=threshold)[0]
    if close.is_empty:
        return NO_VERDICT
    rows = candidates(memory) if among is None else among & candidates(memory)
    alike = find_similar(memory, vector, rows, threshold=threshold, close=close)
    if merged := _first_duplicate(alike):
        return Verdict(merged)
    return Verdict(None, tuple(alike))


def find_near(
    project_id: uuid.UUID, vectors: Sequence[Vector], *, threshold: float
) -> list[Neighbours]:
    """What of a project is at or above a cosine, for each vector."""
    return search_near.find_neighbours(
        Memory, vectors, project_id=project_id, threshold=threshold
    )


def find_near_each(
    project_id: uuid.UUID,
    embedded: Sequence[tuple[Memory, Vector]],
    *,
    threshold: float,
) -> Iterator[tuple[Memory, Vector, Neighbours]]:
    """The stored memories that have others near them, each with what is near."""
    found = find_near(
        project_id, [vector for _, vector in embedded], threshold=threshold
    )
    for (memory, vector), close in zip(embedded, found, strict=True):
        others = close.without(memory.pk)
        if not others.is_empty:
            yield memory, vector, others


def find_similar(
    memory: Memory, vector: Vector, rows: Any, *, threshold: float, close: Neighbours
) -> list[Similarity]:
    """The nearest of its peers at or above a cosine, nearest first, each guarded.

    The project's nearest rows are asked first. Where they are not all that are so
    near, and those that are peers decide nothing, every peer is compared. A pair that
    a person decided about is not brought up again.
    """
    rows = rows.exclude(pk__in=_decided_ids(memory))
    alike = _similarities(memory, rows.filter(pk__in=list(close.scores)), close.scores)
    if close.is_all or len(alike) == MAX_NEIGHBOURS or _first_duplicate(alike):
        return alike
    scores = _scan_exactly(rows, vector, memory.project_id, threshold)
    return _similarities(memory, rows.filter(pk__in=list(scores)), scores)


def _decided_ids(memory: Memory) -> set[uuid.UUID]:
    decided = PossibleDuplicate.objects.filter(
        Q(memory=memory) | Q(other=memory)
    ).exclude(state=PossibleDuplicate.State.OPEN)
    pairs = decided.values_list("memory", "other")
    return {pk for pair in pairs for pk in pair} - {memory.pk}


def _scan_exactly(
    rows: Any, vector: Vector, project_id: uuid.UUID, threshold: float
) -> Scores:
    """The nearest of these rows, by an exact scan of the project's vectors."""
    found = (
        MemoryVector.objects.filter(
            project_id=project_id, model=vector.model, memory__in=rows
        )
        .annotate(distance=CosineDistance("embedding", list(vector)))
        .order_by("distance", "memory_id")
        .values_list("memory_id", "distance")[:MAX_NEIGHBOURS]
    )
    return {pk: 1 - distance for pk, distance in found if 1 - distance >= threshold}


def _similarities(memory: Memory, rows: Any, scores: Scores) -> list[Similarity]:
    found = {row.pk: row for row in rows.light()}
    nearest = [pk for pk in scores if pk in found][:MAX_NEIGHBOURS]
    return [similarity_of(memory, found[pk], scores[pk]) for pk in nearest]


def _first_duplicate(alike: Sequence[Similarity]) -> Similarity | None:
    return next((near for near in alike if near.why_not_merged is None), None)


def similarity_of(memory: Memory, other: Memory, similarity: float) -> Similarity:
    """What a cosine above the threshold says of two memories, once it is guarded."""
    return Similarity(
        memory=other,
        similarity=round(similarity, 4),
        why_not_merged=disagreement.reason_to_keep_apart(memory.content, other.content),
    )


def lock_unchanged(original: Memory) -> Memory | None:
    """Lock an original until the transaction ends; None when it is one no more.

    What it said when it was judged must be what it says now.
    """
    locked = Memory.objects.select_for_update(no_key=True).filter(
        pk=original.pk,
        similarity_hash=original.similarity_hash,
        sensitivity=original.sensitivity,
    )
    held: Memory | None = locked.current().first()
    return held


def lock_all_unchanged(judged: Iterable[Memory]) -> set[uuid.UUID]:
    """Lock memories until the transaction ends; which say what they said when judged."""
    said = {memory.pk: memory.similarity_hash for memory in judged}
    locked = Memory.objects.select_for_update(no_key=True).filter(pk__in=said)
    rows = locked.current().order_by("pk").values_list("pk", "similarity_hash")
    return {pk for pk, digest in rows if digest == said[pk]}


def record_possible(
    memory: Memory, doubts: Sequence[Similarity]
) -> tuple[Similarity, ...]:
    """Show pairs that only look alike to a person; a known pair is not filed twice.

    `memory` is held. Returns the doubts that are left: the others' texts are gone.
    """
    if not doubts:
        return ()
    held = lock_all_unchanged(doubt.memory for doubt in doubts)
    left = tuple(doubt for doubt in doubts if doubt.memory.pk in held)
    PossibleDuplicate.objects.bulk_create(
        [
            PossibleDuplicate(
                project_id=memory.project_id,
                memory=max(memory, doubt.memory, key=lambda row: row.pk),
                other=min(memory, doubt.memory, key=lambda row: row.pk),
                similarity=doubt.similarity,
                why_not_merged=(doubt.why_not_merged or "")[:300],
            )
            for doubt in left
        ],
        ignore_conflicts=True,
    )
    return left

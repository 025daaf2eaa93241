"""Decide whether a memory repeats another memory or only resembles it."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Exists, OuterRef, Q
from pgvector.django import CosineDistance

from common.db import Statement
from common.text import same_text
from inference.embedding import active_model
from inference.embedding.vector import Vector
from memories import searchable_text
from memories.models import (
    EmbeddedMemory,
    Memory,
    MemoryVector,
    PossibleDuplicate,
)
from projects.models import Project
from search.near import Neighbours, find_neighbours, neighbours_statement
from search.semantic import Scores

# Several neighbours are needed: the nearest one may correct the memory, while the next
# one repeats the memory.
MAX_NEIGHBOURS = 5


@dataclass(frozen=True)
class Similarity:
    """A neighbour whose similarity is above the threshold.

    `why_not_merged` says what the two memories do not share, if they are not the same text.
    """

    memory: Memory
    similarity: float
    why_not_merged: str | None


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison.

    It has the original that a memory repeats, or else the memories that it only resembles.
    """

    original: Similarity | None
    possible: tuple[Similarity, ...] = ()


NO_VERDICT = Verdict(None)
# Memories with the same words are found from this cosine on: a short text without its
# articles has another vector (0.88 to 0.98 on eight pairs).
SAME_WORDS_COSINE = 0.88
# Two long memories may be one if they share this much of their words: with one paragraph
# moved, every chunk holds other words, and the vectors differ.
MIN_SHARE = 0.85
ANY_COSINE = -1.0
# Two long texts are compared word by word if their chunks have this similarity on average.
# Of 12 pairs that say the same in another form the least had 0.82, of 12 unrelated pairs the
# most 0.36 (texts of `benchmark long`).
ALIKE = 0.6
# A memory has more than one chunk. Short and long memories are compared in other ways.
IS_LONG = Exists(MemoryVector.objects.filter(memory=OuterRef("pk"), chunk=1))


def candidates(memory: Memory) -> Any:
    """Return the rows that a memory may be a duplicate of.

    These are the current rows of the same project, scope, sensitivity and key.
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
    """Whether a memory is compared by its vector.

    A fact that has a key is compared by its key instead.
    """
    return not (memory.kept_apart or memory.is_keyed_fact)


def probe(project: Project, vectors: Sequence[Vector]) -> Statement:
    """Build the statement that finds a project's neighbours of the vectors.

    `compare_new` takes the neighbours that this statement finds.
    """
    least = least_cosine(project.options.dedup.threshold)
    return neighbours_statement(Memory, vectors, project_id=project.pk, threshold=least)


def least_cosine(threshold: float) -> float:
    """Return the cosine from which on rows are compared word by word."""
    return min(threshold, SAME_WORDS_COSINE)


def compare_new(
    memory: Memory,
    vector: Vector,
    neighbours: Neighbours,
    inserted: Sequence[tuple[Memory, Vector]],
) -> Verdict:
    """Compare a new memory with its neighbours and with memories inserted before it."""
    threshold = memory.project.options.dedup.threshold
    scale = active_model.scale_of(vector.model)
    scores = {
        other.pk: scale.similarity(vector.cosine(theirs)) for other, theirs in inserted
    }
    least = least_cosine(threshold)
    extra = {pk: score for pk, score in scores.items() if score >= least}
    neighbours = neighbours.with_extra(extra)
    return compare(memory, [vector], threshold=threshold, neighbours=neighbours)


def compare_stored(
    project: Project, embedded: Sequence[EmbeddedMemory]
) -> Iterator[tuple[Memory, Verdict]]:
    """Compare stored memories one by one.

    Each memory is compared with the rows before it in the sequence. The caller applies each
    verdict before it takes the next one.
    """
    options = project.options.dedup
    if not options.enabled:
        return
    later = {memory.pk for memory, _ in embedded}
    pairs = find_near_each(project.pk, embedded, threshold=options.threshold)
    for memory, vectors, neighbours in pairs:
        later.discard(memory.pk)
        verdict = compare(
            memory,
            vectors,
            threshold=options.threshold,
            rows=Memory.objects.exclude(pk__in=later),
            neighbours=neighbours,
        )
        yield memory, verdict


def compare(
    memory: Memory,
    vectors: Sequence[Vector],
    *,
    threshold: float,
    rows: Any = None,
    neighbours: Neighbours | None = None,
) -> Verdict:
    """Compare a memory with its nearest candidates (REQ-MEM-DEDUP-001).

    Texts that say opposite things have similar vectors, so only a memory with the same
    words is the original; the others become possible duplicates. `rows` narrows the
    candidates. Pass `neighbours` of a short text if they are already known.
    """
    if not is_comparable(memory):
        return NO_VERDICT
    peers = candidates(memory) if rows is None else rows & candidates(memory)
    if len(vectors) > 1:
        similar = find_similar_long(memory, vectors, peers, threshold=threshold)
    else:
        if neighbours is None:
            (neighbours,) = find_near(
                memory.project_id, vectors, threshold=least_cosine(threshold)
            )
        if neighbours.is_empty:
            return NO_VERDICT
        similar = find_similar(
            memory,
            vectors[0],
            peers.filter(~IS_LONG),
            threshold=threshold,
            neighbours=neighbours,
        )
    if similar and not active_model.has_scale(vectors[0].model):
        return Verdict(None, tuple(map(_undecided, similar)))
    if original := _first_duplicate(similar):
        return Verdict(original)
    return Verdict(None, tuple(similar))


def _undecided(similar: Similarity) -> Similarity:
    why = similar.why_not_merged or "scale: the model's similarities are not measured"
    return replace(similar, why_not_merged=why)


def find_near(
    project_id: uuid.UUID, vectors: Sequence[Vector], *, threshold: float
) -> list[Neighbours]:
    """For each vector, find the project's rows that are similar enough.

    A row is similar enough if its cosine to the vector is at least `threshold`.
    """
    return find_neighbours(Memory, vectors, project_id=project_id, threshold=threshold)


def find_near_each(
    project_id: uuid.UUID,
    embedded: Sequence[EmbeddedMemory],
    *,
    threshold: float,
) -> Iterator[tuple[Memory, Sequence[Vector], Neighbours | None]]:
    """Yield the stored memories that may have duplicates, with their vectors.

    A short memory is yielded with its neighbours, if it has any.
    """
    short = [(memory.pk, each[0]) for memory, each in embedded if len(each) == 1]
    least = least_cosine(threshold)
    found = find_near(project_id, [vector for _, vector in short], threshold=least)
    near = dict(zip((pk for pk, _ in short), found, strict=True))
    for memory, vectors in embedded:
        others = near[memory.pk].without(memory.pk) if memory.pk in near else None
        if others is None or not others.is_empty:
            yield memory, vectors, others


def find_similar_long(
    memory: Memory, vectors: Sequence[Vector], rows: Any, *, threshold: float
) -> list[Similarity]:
    """Find the rows that say the same as a memory of several chunks.

    The rows nearest to all chunks are compared with the memory word by word.
    """
    near = find_near(memory.project_id, vectors, threshold=ANY_COSINE)
    total = Counter[uuid.UUID]()
    for each in near:
        total.update(each.scores)
    total.pop(memory.pk, None)
    alike = [pk for pk, sum_ in total.items() if sum_ >= ALIKE * len(vectors)]
    if not alike:
        return []
    rows = rows.filter(IS_LONG, pk__in=alike).exclude(pk__in=_decided_ids(memory))
    peers = set(rows.values_list("pk", flat=True))
    nearest = [pk for pk, _ in total.most_common() if pk in peers][:MAX_NEIGHBOURS]
    others = {row.pk: row for row in rows.light().filter(pk__in=nearest)}
    similar = []
    for other in (others[pk] for pk in nearest if pk in others):
        is_near = all(each.scores.get(other.pk, 0) >= threshold for each in near)
        if found := _compare_words(memory, other, is_near=is_near):
            similar.append(found)
    return similar


def _compare_words(
    memory: Memory, other: Memory, *, is_near: bool
) -> Similarity | None:
    """Compare the words of two long memories; None if they only resemble each other.

    `is_near` says that each chunk of the memory has a chunk of the other within the threshold.
    """
    share = same_text.share_of_words(memory.text, other.text)
    if share < MIN_SHARE and not is_near:
        return None
    return similarity_of(memory, other, share)


def find_similar(
    memory: Memory,
    vector: Vector,
    rows: Any,
    *,
    threshold: float,
    neighbours: Neighbours,
) -> list[Similarity]:
    """Find the nearest of `rows` whose cosine is at least `threshold`, nearest first.

    The function first looks among the project's `neighbours`. If that list is incomplete
    and does not decide the case, the function scans every row. Pairs that a person decided
    are left out.
    """
    rows = rows.exclude(pk__in=_decided_ids(memory))
    near = rows.filter(pk__in=list(neighbours.scores))
    similar = _similarities(memory, near, neighbours.scores, threshold)
    is_enough = len(similar) == MAX_NEIGHBOURS or _first_duplicate(similar)
    has_all_near = min(neighbours.scores.values(), default=1.0) < threshold
    if neighbours.is_all or is_enough or has_all_near:
        return similar
    scores = _scan_exactly(rows, vector, memory.project_id, threshold)
    return _similarities(memory, rows.filter(pk__in=list(scores)), scores, threshold)


def _decided_ids(memory: Memory) -> set[uuid.UUID]:
    decided = PossibleDuplicate.objects.filter(
        Q(memory=memory) | Q(other=memory)
    ).exclude(state=PossibleDuplicate.PairState.OPEN)
    pairs = decided.values_list("memory", "other")
    return {pk for pair in pairs for pk in pair} - {memory.pk}


def _scan_exactly(
    rows: Any, vector: Vector, project_id: uuid.UUID, threshold: float
) -> Scores:
    """Find the nearest of these rows without an index."""
    nearest = (
        MemoryVector.objects.filter(
            project_id=project_id, model=vector.model, memory__in=rows
        )
        .annotate(distance=CosineDistance("embedding", list(vector)))
        .order_by("distance", "memory_id")
        .values_list("memory_id", "distance")[:MAX_NEIGHBOURS]
    )
    scale = active_model.scale_of(vector.model)
    scores = {pk: scale.similarity(1 - distance) for pk, distance in nearest}
    return {pk: score for pk, score in scores.items() if score >= threshold}


def _similarities(
    memory: Memory, rows: Any, scores: Scores, threshold: float
) -> list[Similarity]:
    """Return the nearest rows above the threshold, and those below with the same words.

    With the same words in another order, or with other marks, a row is shown to a person.
    """
    others = {row.pk: row for row in rows.light()}
    nearest = [pk for pk in scores if pk in others][:MAX_NEIGHBOURS]
    pairs = [similarity_of(memory, others[pk], scores[pk]) for pk in nearest]
    return [
        pair
        for pair in pairs
        if scores[pair.memory.pk] >= threshold
        or pair.why_not_merged is None
        or same_text.share_of_words(memory.text, pair.memory.text) == 1
    ]


def _first_duplicate(similar: Sequence[Similarity]) -> Similarity | None:
    return next((each for each in similar if each.why_not_merged is None), None)


def similarity_of(memory: Memory, other: Memory, similarity: float) -> Similarity:
    """Return a pair whose similarity is above the threshold, with what keeps it apart."""
    if memory.user_id != other.user_id:
        why: str | None = (
            f"user_id: {memory.user_id or 'none'} / {other.user_id or 'none'}"
        )
    else:
        why = same_text.find_difference(
            searchable_text.compared_text(memory), searchable_text.compared_text(other)
        )
    return Similarity(other, round(similarity, 4), why)


def lock_unchanged(original: Memory) -> Memory | None:
    """Lock an original.

    Return None if the original changed or stopped being current after it was compared.
    """
    rows = Memory.objects.select_for_update(no_key=True).filter(
        pk=original.pk,
        similarity_hash=original.similarity_hash,
        sensitivity=original.sensitivity,
    )
    locked: Memory | None = rows.current().first()
    return locked


def lock_all_unchanged(memories: Iterable[Memory]) -> set[uuid.UUID]:
    """Lock memories and return a set of ids.

    The set has the memories that are current and did not change after they were compared.
    """
    hashes = {memory.pk: memory.similarity_hash for memory in memories}
    locked = Memory.objects.select_for_update(no_key=True).filter(pk__in=hashes)
    rows = locked.current().order_by("pk").values_list("pk", "similarity_hash")
    return {pk for pk, digest in rows if digest == hashes[pk]}


def record_possible(
    memory: Memory, similar: Sequence[Similarity]
) -> tuple[Similarity, ...]:
    """Record possible duplicates for a person to decide.

    A pair that is already recorded stays as it is. The caller has locked `memory`. Return
    the pairs whose other memory is unchanged.
    """
    if not similar:
        return ()
    unchanged = lock_all_unchanged(each.memory for each in similar)
    recorded = tuple(each for each in similar if each.memory.pk in unchanged)
    PossibleDuplicate.objects.bulk_create(
        [
            PossibleDuplicate(
                project_id=memory.project_id,
                memory=max(memory, each.memory, key=lambda row: row.pk),
                other=min(memory, each.memory, key=lambda row: row.pk),
                similarity=each.similarity,
                why_not_merged=(each.why_not_merged or "")[:300],
            )
            for each in recorded
        ],
        ignore_conflicts=True,
    )
    return recorded

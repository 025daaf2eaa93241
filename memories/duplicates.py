"""Which memories say the same: found, guarded, marked, unmarked, re-elected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from pgvector.django import CosineDistance

from common import errors
from common.caller import SYSTEM, Caller, Role
from common.writing import write
from inference.vectors import Vector
from memories import disagreement, files, history
from memories.models import Memory, MemoryChange, MemoryVector, PossibleDuplicate
from memories.queries import CURRENT_COLUMNS

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
    """What may be the original of a memory (03, "Duplicates" 3).

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


def judge(memory: Memory, vector: Vector) -> Verdict:
    """Compare a memory with its nearest peers, if its project wants that."""
    options = memory.project.options.dedup
    if not options.enabled:
        return NO_VERDICT
    return weigh(memory, vector, threshold=options.threshold)


def weigh(
    memory: Memory, vector: Vector, *, threshold: float, among: Any = None
) -> Verdict:
    """Compare a memory with its nearest peers (REQ-MEM-DEDUP-001).

    Similarity alone merges opposites, so a guard must find no disagreement. `among`
    narrows the peers. A fact with a key is compared by its key alone.
    """
    if memory.kept_apart or (memory.kind == Memory.Kind.FACT and memory.key):
        return NO_VERDICT
    alike = neighbours(memory, vector, threshold=threshold, among=among)
    merged = next((near for near in alike if near.why_not_merged is None), None)
    if merged:
        return Verdict(merged)
    return Verdict(None, tuple(alike))


def neighbours(
    memory: Memory, vector: Vector, *, threshold: float, among: Any = None
) -> list[Likeness]:
    """The nearest peers at or above a cosine, nearest first, each with its guard.

    A pair that a person decided about is not brought up again.
    """
    decided = PossibleDuplicate.objects.filter(
        Q(memory=memory) | Q(other=memory)
    ).exclude(state=PossibleDuplicate.State.OPEN)
    settled = {pk for pair in decided.values_list("memory", "other") for pk in pair}
    near = (
        MemoryVector.objects.filter(
            project_id=memory.project_id,
            model=vector.model,
            memory__in=peers(memory) if among is None else among & peers(memory),
        )
        .exclude(memory__in=settled - {memory.pk})
        .annotate(distance=CosineDistance("embedding", list(vector)))
        .order_by("distance", "memory_id")
        .values_list("memory_id", "distance")[:NEIGHBOURS]
    )
    alike = {pk: 1 - distance for pk, distance in near if 1 - distance >= threshold}
    rows = Memory.objects.light().in_bulk(list(alike))
    return [likeness(memory, rows[pk], similarity) for pk, similarity in alike.items()]


def likeness(memory: Memory, other: Memory, similarity: float) -> Likeness:
    """What a cosine above the threshold says of two memories, once it is guarded."""
    return Likeness(
        memory=other,
        similarity=round(similarity, 4),
        why_not_merged=disagreement.reason_to_keep_apart(memory.content, other.content),
    )


def compare(memory: Memory, vector: Vector) -> Verdict:
    """Judge a stored memory and record the verdict: mark it, or file the doubts."""
    verdict = judge(memory, vector) if _is_current(memory) else NO_VERDICT
    if verdict.original and (original := hold(verdict.original.memory)):
        mark(memory, original, SYSTEM, reason=f"cosine {verdict.original.similarity}")
    file_doubts(memory, verdict.doubts)
    Memory.objects.filter(pk=memory.pk).update(is_compared=True)
    return verdict


def hold(original: Memory) -> Memory | None:
    """Lock an original until the transaction ends; None when it is one no more."""
    locked = Memory.objects.select_for_update(no_key=True).filter(pk=original.pk)
    held: Memory | None = locked.current().first()
    return held


def mark(memory: Memory, original: Memory, caller: Caller, *, reason: str) -> None:
    """Point a memory, and what pointed to it, at an original that is held.

    The row stays; the original takes over its file links as evidence.
    """
    before = history.state(memory)
    Memory.objects.filter(duplicate_of=memory).update(duplicate_of=original)
    memory.is_duplicate = True
    memory.duplicate_of = original
    memory.version += 1
    memory.save(update_fields=["is_duplicate", "duplicate_of", "version", "updated_at"])
    files.copy_links(memory, original)
    action = MemoryChange.Action.DUPLICATE_MARK
    history.record(caller, action, memory, before=before, reason=reason)


def file_doubts(memory: Memory, doubts: Sequence[Likeness]) -> None:
    """Show pairs that only look alike to a person; a known pair is not filed twice."""
    PossibleDuplicate.objects.bulk_create(
        [
            PossibleDuplicate(
                project_id=memory.project_id,
                memory=max(memory, doubt.memory, key=lambda row: row.pk),
                other=min(memory, doubt.memory, key=lambda row: row.pk),
                similarity=doubt.similarity,
                why_not_merged=(doubt.why_not_merged or "")[:300],
            )
            for doubt in doubts
        ],
        ignore_conflicts=True,
    )


@write
def unmark(memory: Memory, caller: Caller, *, note: str = "") -> Memory:
    """Make a duplicate a memory of its own again; the pair is never marked again."""
    caller.require(Role.CURATOR, memory.project_id)
    memory = Memory.objects.select_for_update(no_key=True).get(pk=memory.pk)
    if not memory.is_duplicate or memory.duplicate_of is None:
        raise NotADuplicate
    before = history.state(memory)
    remember(memory, memory.duplicate_of, "kept_both", caller, note=note)
    memory.kept_apart = True
    place(memory)
    action = MemoryChange.Action.UNMARK
    history.record(caller, action, memory, before=before, reason=note)
    _embed_if_missing(memory)
    return memory


def remember(
    memory: Memory, other: Memory, state: str, caller: Caller, *, note: str = ""
) -> PossibleDuplicate:
    """Keep what a person decided about a pair."""
    newer, older = sorted((memory, other), key=lambda row: row.pk, reverse=True)
    pair, _ = PossibleDuplicate.objects.update_or_create(
        memory=newer,
        other=older,
        defaults={
            "state": state,
            "decided_by": caller.name[:200],
            "decided_at": timezone.now(),
            "note": note[:500],
        },
        create_defaults={
            "project_id": memory.project_id,
            "similarity": 1.0,
            "state": state,
            "decided_by": caller.name[:200],
            "decided_at": timezone.now(),
            "note": note[:500],
        },
    )
    return pair


@write
def decide(
    pair: PossibleDuplicate, verdict: str, caller: Caller, *, note: str = ""
) -> PossibleDuplicate:
    """Settle a possible duplicate: `merged` marks the newer one, `kept_both` neither."""
    caller.require(Role.CURATOR, pair.project_id)
    pair = PossibleDuplicate.objects.select_for_update().get(pk=pair.pk)
    if pair.state != PossibleDuplicate.State.OPEN:
        raise errors.Conflict(
            f"This pair was decided already: {pair.get_state_display()} "
            f"by {pair.decided_by}."
        )
    if verdict == PossibleDuplicate.State.MERGED:
        original = hold(pair.other)
        newer = hold(pair.memory)
        if original is None or newer is None:
            raise errors.Conflict("One of the two memories is not current any more.")
        mark(newer, original, caller, reason=note or "merged by a person")
    return remember(pair.memory, pair.other, verdict, caller, note=note)


def reelect(memory: Memory, caller: Caller) -> Memory | None:
    """Make the earliest live duplicate of an original that left the new original.

    Called in the transaction in which `memory` stopped being current.
    """
    heir: Memory | None = (
        Memory.objects.select_for_update(no_key=True)
        .unexpired()
        .filter(duplicate_of=memory, deleted_at=None, archived_at=None)
        .order_by("pk")
        .first()
    )
    if heir is None:
        return None
    before = history.state(heir)
    place(heir)
    Memory.objects.filter(duplicate_of=memory).exclude(pk=heir.pk).update(
        duplicate_of=heir.duplicate_of or heir
    )
    action = MemoryChange.Action.UNMARK
    history.record(caller, action, heir, before=before, reason="its original left")
    _embed_if_missing(heir)
    return heir


def place(memory: Memory) -> None:
    """Save a row as an original, or as a duplicate of whoever holds its place.

    Re-election, restore and a changed text all come through here, so that a place
    is never held twice.
    """
    memory.version += 1
    memory.is_duplicate, memory.duplicate_of = False, None
    fact = current_fact(memory)
    if fact and fact.similarity_hash != memory.similarity_hash:
        memory.superseded_by = fact
    elif original := fact or original_of(memory):
        memory.is_duplicate, memory.duplicate_of = True, original
    try:
        with transaction.atomic():
            memory.save()
    except IntegrityError as error:
        # Another writer took the place between the look and the save.
        raise errors.Busy from error


def original_of(memory: Memory) -> Memory | None:
    """Hold the live row with the same text, whether it has expired or not."""
    found: Memory | None = (
        Memory.objects.select_for_update(no_key=True)
        .filter(
            project_id=memory.project_id,
            scope_hash=memory.scope_hash,
            sensitivity=memory.sensitivity,
            key=memory.key,
            similarity_hash=memory.similarity_hash,
            kept_apart=False,
            **CURRENT_COLUMNS,
        )
        .exclude(pk=memory.pk)
        .first()
    )
    return None if memory.kept_apart else found


def current_fact(memory: Memory) -> Memory | None:
    """Hold the current fact of the same scope and key, other than this one."""
    if memory.kind != Memory.Kind.FACT or not memory.key:
        return None
    found: Memory | None = (
        Memory.objects.select_for_update(no_key=True)
        .filter(
            project_id=memory.project_id,
            scope_hash=memory.scope_hash,
            key=memory.key,
            kind=Memory.Kind.FACT,
            **CURRENT_COLUMNS,
        )
        .exclude(pk=memory.pk)
        .first()
    )
    return found


class NotADuplicate(errors.Conflict):
    """This memory is not marked as a duplicate."""

    code = "not_a_duplicate"


def _is_current(memory: Memory) -> bool:
    return Memory.objects.current().filter(pk=memory.pk).exists()


def _embed_if_missing(memory: Memory) -> None:
    from memories import vectors  # its job compares through here

    if memory.embedding is None:
        vectors.embed_later(memory.project_id)

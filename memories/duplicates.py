"""Which memories say the same: marked, doubted, unmarked, re-elected."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.db import IntegrityError, transaction
from django.utils import timezone

from common import errors
from common.caller import SYSTEM, Caller, Role
from common.writing import write
from inference.vectors import Vector
from memories import alike, files, history
from memories.alike import NO_VERDICT, Likeness, Verdict
from memories.models import Memory, MemoryChange, PossibleDuplicate
from memories.queries import CURRENT_COLUMNS
from projects.models import Project


def compare(memory: Memory, vector: Vector) -> Verdict:
    """Judge a stored memory and record the verdict: mark it, or file the doubts."""
    return compare_all(memory.project, [(memory, vector)])[0]


def compare_all(
    project: Project, embedded: Sequence[tuple[Memory, Vector]]
) -> list[Verdict]:
    """Judge stored memories, the earliest first: it is the original of the others."""
    current = _current([memory for memory, _ in embedded])
    verdicts = {}
    for memory, verdict in alike.judge_all(
        project, [each for each in embedded if each[0].pk in current]
    ):
        record(memory, verdict, SYSTEM)
        verdicts[memory.pk] = verdict
    Memory.objects.filter(pk__in=[memory.pk for memory, _ in embedded]).update(
        is_compared=True
    )
    return [verdicts.get(memory.pk, NO_VERDICT) for memory, _ in embedded]


def _current(memories: Sequence[Memory]) -> set[uuid.UUID]:
    rows = Memory.objects.current().filter(pk__in=[memory.pk for memory in memories])
    return set(rows.values_list("pk", flat=True))


def record(
    memory: Memory, verdict: Verdict, caller: Caller, *, found: str = ""
) -> None:
    """Mark a memory as its verdict says, or file its doubts."""
    if verdict.original and (original := hold(verdict.original.memory)):
        reason = f"cosine {verdict.original.similarity}{found}"
        mark(memory, original, caller, reason=reason)
    file_doubts(memory, verdict.doubts)


def hold(original: Memory) -> Memory | None:
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
    embed_if_missing(memory)
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
        if not alike.peers(newer).filter(pk=original.pk).exists():
            raise errors.Conflict(
                "The two have different sensitivities or keys: who may read the one "
                "would not find the other. Change one of them, or keep both."
            )
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
    embed_if_missing(heir)
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
    if not memory.is_keyed_fact:
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


def embed_if_missing(memory: Memory) -> None:
    from memories import vectors  # its job compares through here

    if memory.embedding is None:
        vectors.embed_later(memory.project_id)

"""Which memories say the same: marked, doubted, unmarked."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

from django.utils import timezone

from audit import trail
from common import errors
from common.caller import SYSTEM, Caller, Role
from common.db import write
from inference.embedding.vector import Vector
from memories import alike, history, places
from memories.alike import NO_VERDICT, Likeness, Verdict
from memories.models import Memory, MemoryChange, PossibleDuplicate
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
        places.mark(memory, original, caller, reason=reason)
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


def unchanged(judged: Iterable[Memory]) -> set[uuid.UUID]:
    """Lock memories until the transaction ends; which say what they said when judged."""
    said = {memory.pk: memory.similarity_hash for memory in judged}
    locked = Memory.objects.select_for_update(no_key=True).filter(pk__in=said)
    rows = locked.current().order_by("pk").values_list("pk", "similarity_hash")
    return {pk for pk, digest in rows if digest == said[pk]}


def file_doubts(memory: Memory, doubts: Sequence[Likeness]) -> tuple[Likeness, ...]:
    """Show pairs that only look alike to a person; a known pair is not filed twice.

    `memory` is held. Returns the doubts that are left: the others' texts are gone.
    """
    if not doubts:
        return ()
    held = unchanged(doubt.memory for doubt in doubts)
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


@write
def unmark(memory: Memory, caller: Caller, *, note: str = "") -> Memory:
    """Make a duplicate a memory of its own again; the pair is never marked again."""
    caller.require(Role.CURATOR, memory.project_id)
    memory = Memory.objects.select_for_update(no_key=True).get(pk=memory.pk)
    if memory.deleted_at or not memory.is_duplicate or memory.duplicate_of is None:
        raise NotADuplicate
    if fact := places.current_fact(memory):
        raise errors.StateConflict(
            f"A key has one current fact, and {fact.pk} is it. Change that one, or store "
            "this one with another key."
        )
    before = history.state(memory)
    remember(memory, memory.duplicate_of, "kept_both", caller, note=note)
    memory.kept_apart = True
    places.place(memory)
    action = MemoryChange.Action.UNMARK
    history.record(caller, action, memory, before=before, reason=note)
    places.embed_if_missing(memory)
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
    trail.record(
        caller,
        f"possible_duplicate.{state}",
        project_id=pair.project_id,
        object_type="possible_duplicate",
        object_id=pair.pk,
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
        raise errors.StateConflict(
            f"This pair was decided already: {pair.get_state_display()} "
            f"by {pair.decided_by}."
        )
    if verdict == PossibleDuplicate.State.MERGED:
        original = hold(pair.other)
        newer = hold(pair.memory)
        if original is None or newer is None:
            raise errors.StateConflict(
                "One of the two memories is not current any more."
            )
        if not alike.peers(newer).filter(pk=original.pk).exists():
            raise errors.StateConflict(
                "The two have different sensitivities or keys: who may read the one "
                "would not find the other. Change one of them, or keep both."
            )
        places.mark(newer, original, caller, reason=note or "merged by a person")
    return remember(pair.memory, pair.other, verdict, caller, note=note)


class NotADuplicate(errors.StateConflict):
    """This memory is not marked as a duplicate."""

    code = "not_a_duplicate"

"""Compare stored memories, and mark each memory that repeats another one."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from common.caller import SYSTEM, Caller
from inference.embedding.vector import Vector
from memories import near_duplicates
from memories.models import EmbeddedMemory, Memory
from memories.near_duplicates import NO_VERDICT, Verdict
from memories.store import originals
from projects.models import Project


def check(memory: Memory, vectors: Sequence[Vector]) -> Verdict:
    """Compare a stored memory and apply the verdict."""
    return check_all(memory.project, [(memory, vectors)])[0]


def check_all(project: Project, embedded: Sequence[EmbeddedMemory]) -> list[Verdict]:
    """Compare stored memories and apply the verdicts, beginning with the earliest memory.

    The earliest of several duplicates becomes the original of the others.
    """
    current = _current_ids([memory for memory, _ in embedded])
    verdicts = {}
    for memory, verdict in near_duplicates.compare_stored(
        project, [each for each in embedded if each[0].pk in current]
    ):
        apply_verdict(memory, verdict, SYSTEM)
        verdicts[memory.pk] = verdict
    Memory.objects.filter(pk__in=[memory.pk for memory, _ in embedded]).update(
        is_compared=True
    )
    return [verdicts.get(memory.pk, NO_VERDICT) for memory, _ in embedded]


def _current_ids(memories: Sequence[Memory]) -> set[uuid.UUID]:
    rows = Memory.objects.current().filter(pk__in=[memory.pk for memory in memories])
    return set(rows.values_list("pk", flat=True))


def apply_verdict(
    memory: Memory, verdict: Verdict, caller: Caller, *, source: str = ""
) -> None:
    """Mark a memory as a duplicate, or record its possible duplicates.

    `source` is appended to the reason in the history.
    """
    if verdict.original and (
        original := near_duplicates.lock_unchanged(verdict.original.memory)
    ):
        reason = f"cosine {verdict.original.similarity}{source}"
        originals.mark_duplicate(memory, original, caller, reason=reason)
    near_duplicates.record_possible(memory, verdict.possible)

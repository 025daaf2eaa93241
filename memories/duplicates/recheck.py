"""Find duplicates that today's rules would not mark, and release them.

Long texts with a common beginning, and a failure beside a success, were hidden before texts had
chunks and before outcomes were compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from common.caller import Caller
from common.db import write
from common.errors import StateConflict
from memories import near_duplicates, searchable_text
from memories.duplicates import decide
from memories.models import Memory, PossibleDuplicate
from projects.models import Project

WINDOW = 200  # rows that are read at a time


@dataclass(frozen=True)
class WrongMark:
    """A memory that is marked as a duplicate, and why it is none."""

    memory: Memory
    original: Memory
    reason: str


def find_wrong_marks(project: Project) -> Iterator[WrongMark]:
    """Yield the marked memories that differ from their originals by today's rules.

    What a person merged stays, as do the copies of one text and of one fact. Raises
    InferenceError.
    """
    threshold = project.options.dedup.threshold
    rows = (
        Memory.objects.filter(project=project, is_duplicate=True, deleted_at=None)
        .exclude(duplicate_of=None)
        .order_by("pk")
    )
    last = None
    while batch := list((rows.filter(pk__gt=last) if last else rows).light()[:WINDOW]):
        last = batch[-1].pk
        originals = Memory.objects.light().in_bulk([m.duplicate_of_id for m in batch])
        for memory in batch:
            original = originals[memory.duplicate_of_id]
            if reason := _why_different(memory, original, threshold=threshold):
                yield WrongMark(memory, original, reason)


def _why_different(memory: Memory, original: Memory, *, threshold: float) -> str:
    # The stored hashes may be those of an earlier release, which hashed the content alone.
    hashes = {searchable_text.similarity_hash(each) for each in (memory, original)}
    if len(hashes) == 1 or memory.is_keyed_fact:
        return ""
    merged = PossibleDuplicate.objects.filter(
        memory=max(memory, original, key=lambda row: row.pk),
        other=min(memory, original, key=lambda row: row.pk),
        state=PossibleDuplicate.PairState.MERGED,
    )
    if merged.exists():
        return ""
    return near_duplicates.why_not_one(memory, original, threshold=threshold) or ""


@write
def release(mark: WrongMark, caller: Caller) -> bool:
    """Make a memory an original again; False if it changed meanwhile, or if its key has a fact."""
    compared = {each.pk: each.version for each in (mark.memory, mark.original)}
    rows = Memory.objects.select_for_update(no_key=True).filter(pk__in=compared)
    if dict(rows.order_by("pk").values_list("pk", "version")) != compared:
        return False
    try:
        decide.unmark(mark.memory, caller, note=f"recheck: {mark.reason}"[:500])
    except StateConflict:
        return False
    return True

"""TODO docstring."""

from __future__ import annotations

from common import errors
from common.caller import Caller
from common.db import execute_many, insert_new
from inference.embedding.vector import Vector
from memories import near_duplicates
from memories import near_duplicates as memories_near_duplicates
from memories.models import Memory, MemoryChange
from memories.near_duplicates import Verdict
from memories.store import history, originals, vectors
from memories.store.drafts import Draft
from memories.store.receipt import Receipt

# Another writer can win the same place a few times, not for ever.
ATTEMPTS = 5


def insert_memory(
    memory: Memory,
    draft: Draft,
    vector: Vector | None,
    caller: Caller,
    verdict: Verdict = near_duplicates.NO_VERDICT,
    *,
    reason: str = "",
) -> Receipt:
    if verdict.original and (
        original := memories_near_duplicates.lock_unchanged(verdict.original.memory)
    ):
        cosine = f"cosine {verdict.original.similarity}"
        return _insert_duplicate(memory, original, draft, caller, cosine)
    memory.is_compared = vector is not None
    same = None
    for _ in range(ATTEMPTS):
        if found := originals.lock_current_fact(memory):
            if originals.is_same_fact(memory, found):
                return _insert_duplicate(memory, found, draft, caller, "the same fact")
            _supersede_fact(found, memory, caller)
            same = found
        if insert_new([memory]):
            break
        if original := originals.resolve_original(memory, caller):
            return _insert_duplicate(memory, original, draft, caller, "the same text")
    else:
        raise errors.Busy
    doubts = memories_near_duplicates.record_possible(memory, verdict.doubts)
    told = history.statements_of(caller, action_of(draft), memory, reason=reason)
    if vector:
        vectors.put([(memory, vector)], after=told)
    else:
        execute_many(*told)
    if same and same.pk not in (draft.promoted_from, *draft.compacted_from):
        # A source leaves no heirs: what was made of it says what they say.
        originals.promote_successor(same, caller)
    return Receipt(
        status="superseded_key" if same else "stored",
        memory=memory,
        possible_duplicates=doubts,
        semantic=vector is not None,
        notes=draft.notes,
    )


def action_of(draft: Draft) -> MemoryChange.Action:
    if draft.promoted_from:
        return MemoryChange.Action.PROMOTE
    if draft.compacted_from:
        return MemoryChange.Action.COMPACT
    return MemoryChange.Action.CREATE


def _insert_duplicate(
    memory: Memory, original: Memory, draft: Draft, caller: Caller, reason: str
) -> Receipt:
    """Keep the row and its history; it points to the original and is not searched."""
    memory.is_duplicate = True
    memory.duplicate_of = original
    memory.save(force_insert=True)
    history.record(caller, MemoryChange.Action.CREATE, memory, reason=reason)
    return Receipt(
        status="duplicate", memory=memory, duplicate_of=original, notes=draft.notes
    )


def _supersede_fact(old: Memory, new: Memory, caller: Caller) -> None:
    # The foreign key is deferred: `new` is inserted later in this transaction.
    before = history.snapshot(old)
    old.superseded_by_id = new.pk
    old.version += 1
    old.save(update_fields=["superseded_by", "version", "updated_at"])
    action = MemoryChange.Action.SUPERSEDE
    history.record(caller, action, old, before=before, reason="a newer fact")

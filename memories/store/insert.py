"""Insert one memory as an original, as a duplicate, or as a fact of its key."""

from __future__ import annotations

from common import errors
from common.caller import Caller
from common.db import execute_many, insert_new
from inference.embedding.vector import Vector
from memories import near_duplicates
from memories.models import Memory, MemoryChange
from memories.near_duplicates import Verdict
from memories.store import history, originals, repetition, vectors
from memories.store.drafts import Draft
from memories.store.receipt import Receipt

# The maximum number of attempts. Another writer may insert the same text first, but not
# every time.
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
    """Insert a memory.

    The memory is inserted as an original, as a duplicate, as the newest fact of its key, or
    as an older fact that the newest one supersedes.
    """
    if verdict.original and (
        original := near_duplicates.lock_unchanged(verdict.original.memory)
    ):
        cosine = f"cosine {verdict.original.similarity}"
        return _insert_duplicate(memory, original, draft, caller, cosine)
    memory.is_compared = vector is not None
    older_fact = None
    for _ in range(ATTEMPTS):
        if fact := originals.lock_current_fact(memory):
            if originals.is_same_fact(memory, fact):
                return _insert_duplicate(memory, fact, draft, caller, "the same fact")
            if originals.is_later_fact(fact, memory):
                memory.superseded_by = fact
            else:
                _supersede_fact(fact, memory, caller)
                older_fact = fact
        if insert_new([memory]):
            break
        if original := originals.resolve_original(memory, caller):
            return _insert_duplicate(memory, original, draft, caller, "the same text")
    else:
        raise errors.Busy
    possible = near_duplicates.record_possible(memory, verdict.possible)
    statements = history.statements_of(caller, action_of(draft), memory, reason=reason)
    if vector:
        vectors.put([(memory, [vector])], before=statements)
    else:
        execute_many(*statements)
    sources = (draft.promoted_from, *draft.compacted_from)
    if older_fact and older_fact.pk not in sources:
        # A source gets no successor, because the new memory repeats the source's duplicates
        # too.
        originals.promote_successor(older_fact, caller)
    return Receipt(
        status="superseded_key" if older_fact else "stored",
        memory=memory,
        possible_duplicates=possible,
        semantic=vector is not None,
        notes=draft.notes,
    ).with_notes(_describe_later_fact(memory))


def _describe_later_fact(memory: Memory) -> str:
    if not memory.superseded_by_id:
        return ""
    return (
        f"memory {memory.superseded_by_id} says what the key says now, because its time is "
        "later"
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
    """Insert a memory as a duplicate.

    The duplicate has a history and points to its original. Searches leave it out.
    """
    memory.is_duplicate = True
    memory.duplicate_of = original
    memory.save(force_insert=True)
    history.record(caller, MemoryChange.Action.CREATE, memory, reason=reason)
    note = repetition.keep_additions(original, memory, caller)
    receipt = Receipt(
        status="duplicate", memory=memory, duplicate_of=original, notes=draft.notes
    )
    return receipt.with_notes(note)


def _supersede_fact(old: Memory, new: Memory, caller: Caller) -> None:
    # The foreign key is deferred, so `new` can be inserted later in the transaction.
    before = history.snapshot(old)
    old.superseded_by_id = new.pk
    old.version += 1
    old.save(update_fields=["superseded_by", "version", "updated_at"])
    action = MemoryChange.Action.SUPERSEDE
    history.record(caller, action, old, before=before, reason="a newer fact")

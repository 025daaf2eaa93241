"""Keep one original for each text in a scope, and one current fact for each key.

When an original is deleted, archived or changed, one of its duplicates becomes the new
original.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Case, Q, When
from django.db.models.functions import Least
from django.utils import timezone

from common import errors
from common.caller import SYSTEM, Caller
from memories.models import Memory, MemoryChange
from memories.queries import CURRENT_COLUMNS
from memories.store import files, history, repetition, vectors


def archive(memory: Memory, caller: Caller, *, reason: str) -> None:
    """Archive a memory. One of its duplicates becomes the new original."""
    before = history.snapshot(memory)
    memory.archived_at = timezone.now()
    memory.version += 1
    memory.save(update_fields=["archived_at", "version", "updated_at"])
    action = MemoryChange.Action.ARCHIVE
    history.record(caller, action, memory, before=before, reason=reason)
    release(memory, caller)


def release(memory: Memory, caller: Caller) -> None:
    """Let duplicates succeed a memory that is no longer current.

    Sources that were deleted for this memory are released too. Their duplicates had no
    successor while the memory repeated the texts of the sources.
    """
    promote_successor(memory, caller)
    source_ids = filter(None, [memory.promoted_from, *memory.compacted_from])
    retired = Memory.objects.filter(pk__in=list(source_ids), retired_into=memory.pk)
    for original in retired.order_by("pk"):
        release(original, caller)


def promote_successor(memory: Memory, caller: Caller) -> None:
    """Make the earliest live duplicate of `memory` the new original.

    Facts come before other duplicates. Call this function in the transaction in which
    `memory` stops being current. If the successor is a fact and its key has a newer fact,
    the newer fact supersedes the successor, and the next duplicate succeeds `memory`.
    """
    successor = (
        Memory.objects.select_for_update(no_key=True)
        .unexpired()
        .filter(duplicate_of=memory, deleted_at=None, archived_at=None)
        .order_by(Case(When(kind=Memory.Kind.FACT, then=0), default=1), "pk")
        .first()
    )
    if successor is None:
        return
    before = history.snapshot(successor)
    assign(successor)
    others = Memory.objects.filter(duplicate_of=memory).exclude(pk=successor.pk)
    if successor.superseded_by:
        others = others.filter(kind=successor.kind)
    others.update(duplicate_of=successor.duplicate_of or successor)
    action = MemoryChange.Action.UNMARK
    history.record(caller, action, successor, before=before, reason="its original left")
    embed_if_missing(successor)
    if successor.superseded_by:
        promote_successor(memory, caller)


def assign(memory: Memory) -> None:
    """Save a row as an original, or as a duplicate of the original that exists.

    Every change that can make a row an original calls this function, so that a text never
    has two originals.
    """
    memory.version += 1
    memory.is_duplicate, memory.duplicate_of = False, None
    fact = _lock_unexpired(lock_current_fact, memory, SYSTEM)
    if fact and not is_same_fact(memory, fact):
        memory.superseded_by = fact
    elif original := fact or resolve_original(memory, SYSTEM):
        memory.is_duplicate, memory.duplicate_of = True, original
    try:
        with transaction.atomic():
            memory.save()
    except IntegrityError as error:
        # Another writer inserted the same text after the query above had run.
        raise errors.Busy from error


def mark_duplicate(
    memory: Memory, original: Memory, caller: Caller, *, reason: str
) -> None:
    """Mark a memory and its own duplicates as duplicates of a locked original.

    The original gets the file links, tags, metadata and longer life of the memory.
    """
    before = history.snapshot(memory)
    copies = Memory.objects.filter(duplicate_of=memory).exclude(pk=original.pk)
    copies.update(duplicate_of=original)
    memory.is_duplicate = True
    memory.duplicate_of = original
    memory.version += 1
    memory.save(update_fields=["is_duplicate", "duplicate_of", "version", "updated_at"])
    files.copy_links(memory, original)
    action = MemoryChange.Action.DUPLICATE_MARK
    history.record(caller, action, memory, before=before, reason=reason)
    repetition.keep_additions(original, memory, caller)


def _lock_unexpired(
    lock: Callable[[Memory], Memory | None], memory: Memory, caller: Caller
) -> Memory | None:
    """Lock a row by calling `lock`.

    If the row has expired, archive it and lock its successor instead.
    """
    row = lock(memory)
    if row is None or not row.is_expired:
        return row
    archive(row, caller, reason="expired")
    return lock(memory)


def resolve_original(memory: Memory, caller: Caller) -> Memory | None:
    """Lock the original of a memory's text; return None if the memory is the original.

    A fact takes precedence: a note with the same text becomes a duplicate of the fact. If
    the fact were the duplicate, the current fact of a key would be hidden.
    """
    original = _lock_unexpired(lock_original, memory, caller)
    is_in_force = not (memory.is_inactive or memory.superseded_by_id)
    is_fact = memory.is_keyed_fact and is_in_force
    if original and is_fact and not original.is_keyed_fact:
        mark_duplicate(original, memory, caller, reason="a fact says the same")
        return None
    return original


def is_same_fact(memory: Memory, fact: Memory) -> bool:
    """Whether a memory repeats the current fact of its key.

    Both must be for the same readers.
    """
    return (
        fact.similarity_hash == memory.similarity_hash
        and fact.value == memory.value
        and fact.sensitivity == memory.sensitivity
        and not fact.is_expired
        and not memory.kept_apart
    )


def is_later_fact(fact: Memory, new: Memory) -> bool:
    """Whether a fact, or a repetition of it, is about a later time than a new fact.

    A fact without a time is about the time of its arrival, and so is one that names a later
    time: no fact can foretell what comes after it.
    """
    if new.occurred_at is None or fact.is_expired:
        return False
    told = Memory.objects.filter(Q(pk=fact.pk) | Q(duplicate_of=fact), deleted_at=None)
    told = told.alias(at=Least("occurred_at", "created_at"))
    is_later: bool = told.filter(at__gt=new.occurred_at).exists()
    return is_later


def lock_original(memory: Memory) -> Memory | None:
    """Lock the live row with the same text, even if the row has expired."""
    if memory.kept_apart:
        return None
    return _lock_holder(
        memory,
        sensitivity=memory.sensitivity,
        similarity_hash=memory.similarity_hash,
        kept_apart=False,
    )


def lock_current_fact(memory: Memory) -> Memory | None:
    """Lock another current fact that has the same scope and key."""
    return _lock_holder(memory, kind=Memory.Kind.FACT) if memory.is_keyed_fact else None


def _lock_holder(memory: Memory, **columns: Any) -> Memory | None:
    """Lock another live row that has the same scope, the same key and these columns."""
    row: Memory | None = (
        Memory.objects.select_for_update(no_key=True)
        .filter(
            project_id=memory.project_id,
            scope_hash=memory.scope_hash,
            key=memory.key,
            **columns,
            **CURRENT_COLUMNS,
        )
        .exclude(pk=memory.pk)
        .first()
    )
    return row


def embed_if_missing(memory: Memory) -> None:
    """Enqueue the embedding job if a memory has no vector.

    Duplicates have no vectors.
    """
    if memory.embedding is None:
        vectors.embed_later(memory.project_id)

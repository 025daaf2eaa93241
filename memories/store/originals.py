"""Who holds a place: one original of a text, one current fact of a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Case, When
from django.utils import timezone

from common import errors
from common.caller import SYSTEM, Caller
from memories.models import Memory, MemoryChange
from memories.queries import CURRENT_COLUMNS
from memories.store import files, history


def archive(memory: Memory, caller: Caller, *, reason: str) -> None:
    """Take a memory out of every read for good, and let a duplicate take its place."""
    before = history.snapshot(memory)
    memory.archived_at = timezone.now()
    memory.version += 1
    memory.save(update_fields=["archived_at", "version", "updated_at"])
    action = MemoryChange.Action.ARCHIVE
    history.record(caller, action, memory, before=before, reason=reason)
    release(memory, caller)


def release(memory: Memory, caller: Caller) -> None:
    """Let heirs take the place of what left, and of originals that were retired for it.

    These left their duplicates behind it: it said what they said.
    """
    promote_successor(memory, caller)
    made_of = filter(None, [memory.promoted_from, *memory.compacted_from])
    retired = Memory.objects.filter(
        pk__in=list(made_of),
        retired_into=memory.pk,
    )
    for original in retired.order_by("pk"):
        release(original, caller)


def promote_successor(memory: Memory, caller: Caller) -> None:
    """Make the earliest live duplicate of an original that left the new original.

    A fact before a note, as in `repeated`. Called in the transaction in which `memory`
    stopped being current. Where its key has a newer fact, that supersedes a duplicate
    which is a fact, and a note is next.
    """
    heir = (
        Memory.objects.select_for_update(no_key=True)
        .unexpired()
        .filter(duplicate_of=memory, deleted_at=None, archived_at=None)
        .order_by(Case(When(kind=Memory.Kind.FACT, then=0), default=1), "pk")
        .first()
    )
    if heir is None:
        return
    before = history.snapshot(heir)
    assign(heir)
    others = Memory.objects.filter(duplicate_of=memory).exclude(pk=heir.pk)
    if heir.superseded_by:
        others = others.filter(kind=heir.kind)
    others.update(duplicate_of=heir.duplicate_of or heir)
    action = MemoryChange.Action.UNMARK
    history.record(caller, action, heir, before=before, reason="its original left")
    embed_if_missing(heir)
    if heir.superseded_by:
        promote_successor(memory, caller)


def assign(memory: Memory) -> None:
    """Save a row as an original, or as a duplicate of whoever holds its place.

    Re-election, restore and a changed text all come through here, so that a place
    is never held twice.
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
        # Another writer took the place between the look and the save.
        raise errors.Busy from error


def mark_duplicate(
    memory: Memory, original: Memory, caller: Caller, *, reason: str
) -> None:
    """Point a memory, and what pointed to it, at an original that is held.

    The row stays; the original takes over its file links as evidence.
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


def _lock_unexpired(
    holder: Callable[[Memory], Memory | None], memory: Memory, caller: Caller
) -> Memory | None:
    """Who holds a place; one that has expired is archived, and its heir has it."""
    found = holder(memory)
    if found is None or not found.is_expired:
        return found
    archive(found, caller, reason="expired")
    return holder(memory)


def resolve_original(memory: Memory, caller: Caller) -> Memory | None:
    """The original of a memory's text; a note that says what a fact says makes room.

    Behind a note, the current fact of its key would be found nowhere.
    """
    original = _lock_unexpired(lock_original, memory, caller)
    is_in_force = not (memory.has_left or memory.superseded_by_id)
    is_fact = memory.is_keyed_fact and is_in_force
    if original and is_fact and not original.is_keyed_fact:
        mark_duplicate(original, memory, caller, reason="a fact says the same")
        return None
    return original


def is_same_fact(memory: Memory, fact: Memory) -> bool:
    """Whether a fact says the same as the current one of its key, to the same readers.

    What was made of others, or unmarked, repeats nothing.
    """
    return (
        fact.similarity_hash == memory.similarity_hash
        and fact.value == memory.value
        and fact.sensitivity == memory.sensitivity
        and not fact.is_expired
        and not memory.kept_apart
    )


def lock_original(memory: Memory) -> Memory | None:
    """Hold the live row with the same text, whether it has expired or not."""
    if memory.kept_apart:
        return None
    return _lock_holder(
        memory,
        sensitivity=memory.sensitivity,
        similarity_hash=memory.similarity_hash,
        kept_apart=False,
    )


def lock_current_fact(memory: Memory) -> Memory | None:
    """Hold the current fact of the same scope and key, other than this one."""
    return _lock_holder(memory, kind=Memory.Kind.FACT) if memory.is_keyed_fact else None


def _lock_holder(memory: Memory, **place: Any) -> Memory | None:
    """Hold another live row of the same scope and key that has this in common, too."""
    found: Memory | None = (
        Memory.objects.select_for_update(no_key=True)
        .filter(
            project_id=memory.project_id,
            scope_hash=memory.scope_hash,
            key=memory.key,
            **place,
            **CURRENT_COLUMNS,
        )
        .exclude(pk=memory.pk)
        .first()
    )
    return found


def embed_if_missing(memory: Memory) -> None:
    from memories.store import vectors  # its job compares through here

    if memory.embedding is None:
        vectors.embed_later(memory.project_id)

"""Store, read and delete facts and episodes, which are memories of these kinds."""

from __future__ import annotations

import uuid

from ace.episode import read_past_task
from common import db, errors
from common.caller import Caller, Role
from memories.lifecycle import delete, lookup
from memories.models import Memory
from memories.read import retrieve
from memories.store import write
from memories.store.receipt import Receipt
from memories.store.write import Batch


def commit(prepared: Batch) -> Receipt:
    """Write one prepared row; raise its refusal."""
    (receipt,) = write.commit(prepared)
    if receipt.refusal:
        raise receipt.refusal
    return receipt


def kept_memory(receipt: Receipt) -> Memory:
    """Return what a retrieval finds: the memory, or the original that it repeats."""
    memory = receipt.duplicate_of or receipt.memory
    assert memory
    return memory


def get_of_kind(
    memory_id: uuid.UUID, kind: str, caller: Caller, role: Role = Role.VIEWER
) -> Memory:
    """Return a readable memory of a kind; raise NotFound for any other id.

    The record of a finished task is an episode, too.
    """
    memory = retrieve.find_memory(memory_id, caller)
    is_episode = memory is not None and memory.is_past_task
    has_kind = (
        is_episode if kind == Memory.Kind.EPISODE else memory and memory.kind == kind
    )
    if memory is None or not has_kind:
        raise errors.NotFound(f"There is no {kind} {memory_id}, or you may not see it.")
    caller.require(role, memory.project_id)
    return read_past_task(memory) if is_episode else memory


@db.write
def delete_of_kind(memory_id: uuid.UUID, kind: str, caller: Caller) -> Memory:
    """Delete a memory of a kind softly, with its history; raise NotFound for other ids.

    The rows that repeat its text in its scope go first: otherwise one of them would take its
    place, and a read would find the text again.
    """
    memory = get_of_kind(memory_id, kind, caller, Role.WRITER)
    repeated = Memory.objects.visible_to(caller).filter(
        duplicate_of=memory.pk,
        kind=memory.kind,
        scope_hash=memory.scope_hash,
        similarity_hash=memory.similarity_hash,
        deleted_at=None,
    )
    reason = f"deleted as a {kind}"
    for pk in repeated.order_by("pk").values_list("pk", flat=True):
        delete.delete_memory(pk, caller, reason=reason)
    if not delete.delete_memory(memory.pk, caller, reason=reason):
        raise lookup.not_found_error(memory.pk)
    return memory

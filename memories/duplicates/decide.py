"""Record a person's decision about a pair of similar memories."""

from __future__ import annotations

from django.utils import timezone

from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from memories import near_duplicates
from memories.models import Memory, MemoryChange, PossibleDuplicate
from memories.store import history, originals


@write
def unmark(memory: Memory, caller: Caller, *, note: str = "") -> Memory:
    """Make a duplicate an original again.

    The memory is never marked as a duplicate again.
    """
    caller.require(Role.CURATOR, memory.project_id)
    memory = Memory.objects.select_for_update(no_key=True).get(pk=memory.pk)
    if memory.deleted_at or not memory.is_duplicate or memory.duplicate_of is None:
        raise NotADuplicate
    if fact := originals.lock_current_fact(memory):
        raise errors.StateConflict(
            f"The key already has the current fact {fact.pk}. Change that fact, or store "
            "this memory with another key."
        )
    before = history.snapshot(memory)
    _record_decision(memory, memory.duplicate_of, "kept_both", caller, note=note)
    memory.kept_apart = True
    originals.assign(memory)
    action = MemoryChange.Action.UNMARK
    history.record(caller, action, memory, before=before, reason=note)
    originals.embed_if_missing(memory)
    return memory


def _record_decision(
    memory: Memory, other: Memory, state: str, caller: Caller, *, note: str = ""
) -> PossibleDuplicate:
    """Record the decision about a pair.

    The decision is written to the pair and to the audit trail.
    """
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
    """Decide a possible duplicate.

    The verdict `merged` marks the newer memory as a duplicate. The verdict `kept_both`
    marks neither memory.
    """
    caller.require(Role.CURATOR, pair.project_id)
    pair = PossibleDuplicate.objects.select_for_update().get(pk=pair.pk)
    if pair.state != PossibleDuplicate.PairState.OPEN:
        raise errors.StateConflict(
            f"This pair was decided already: {pair.get_state_display()} "
            f"by {pair.decided_by}."
        )
    if verdict == PossibleDuplicate.PairState.MERGED:
        original = near_duplicates.lock_unchanged(pair.other)
        newer = near_duplicates.lock_unchanged(pair.memory)
        if original is None or newer is None:
            raise errors.StateConflict(
                "One of the two memories is not current any more."
            )
        if not near_duplicates.candidates(newer).filter(pk=original.pk).exists():
            raise errors.StateConflict(
                "The two memories differ in sensitivity or key: a reader of one might "
                "not find the other. Change one of them, or keep both."
            )
        originals.mark_duplicate(
            newer, original, caller, reason=note or "merged by a person"
        )
    return _record_decision(pair.memory, pair.other, verdict, caller, note=note)


class NotADuplicate(errors.StateConflict):
    """This memory is not marked as a duplicate."""

    code = "not_a_duplicate"

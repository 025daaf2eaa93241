"""Apply a delta under the lock of its playbook.

Every proposal changes entries in this way.
"""

from __future__ import annotations

from common.caller import Caller
from inference.embedding.vector import Vector
from playbook.history import operations
from playbook.history.revision import Cause, Revision
from playbook.models import Playbook, PlaybookChange, PlaybookDelta


def apply_delta(
    playbook: Playbook,
    delta: PlaybookDelta,
    caller: Caller,
    *,
    status: PlaybookDelta.DeltaStatus,
    vector: Vector | None = None,
) -> list[PlaybookChange]:
    """Apply a saved delta as one revision, and set the status of the delta.

    Return the changes of the revision in order. Raises StaleEntry, EntryState,
    DuplicateEntry, OverBudget and UnsafeText. A delta that changes nothing makes no
    revision.
    """
    cause = Cause(
        reason=delta.reason,
        delta_id=delta.pk,
        run_id=delta.run_id,
        memory_id=delta.memory_id,
        agent_id=delta.agent_id,
    )
    revision = Revision(playbook, caller, cause)
    operations.perform(revision, delta, vector)
    delta.status = status
    delta.version += 1
    delta.save()
    return revision.close()

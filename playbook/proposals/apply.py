"""Apply a delta under the lock of its playbook.

Every proposal changes entries in this way.
"""

from __future__ import annotations

from audit import trail
from common.caller import Caller
from inference.embedding.vector import Vector
from playbook.conflicts import conflict_lifecycle
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
    release_reason: str = "",
) -> list[PlaybookChange]:
    """Apply a saved delta as one revision, and set the status of the delta.

    Return the changes of the revision in order. Raises StaleEntry, EntryState,
    DuplicateEntry, OverBudget, and NeedsRelease without an owner's `release_reason`. A
    delta that changes nothing makes no revision.
    """
    cause = Cause(
        reason=delta.reason,
        delta_id=delta.pk,
        run_id=delta.run_id,
        memory_id=delta.memory_id,
        agent_id=delta.agent_id,
        release=release_reason,
    )
    revision = Revision(playbook, caller, cause)
    operations.perform(revision, delta, vector)
    delta.status = status
    delta.version += 1
    delta.save()
    changes = revision.close()
    conflict_lifecycle.update_conflicts(changes, caller, delta=delta)
    if release_reason:
        _record_release(revision, delta, caller)
    return changes


def _record_release(revision: Revision, delta: PlaybookDelta, caller: Caller) -> None:
    """Write the audit row of a release, unless nothing had to be released."""
    kinds = {kind for text in revision.released for kind in text.kinds}
    if not kinds and not delta.is_quarantined:
        return
    failed = {gate["name"] for gate in delta.gates if gate["verdict"] == "fail"}
    trail.record(
        caller,
        "delta.release",
        project_id=delta.project_id,
        object_type="playbook_delta",
        object_id=delta.pk,
        reason=revision.cause.release[:1000],
        kinds=sorted(kinds or failed),
    )

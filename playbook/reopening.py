"""A decision about a proposal taken back: it waits again, as it was proposed."""

from __future__ import annotations

import uuid

from common.caller import Caller, Role
from common.writing import write
from inference.vectors import Vector
from playbook import rebasing, rejected, reverting, reviewing
from playbook.drafts import Operation
from playbook.models import PlaybookDelta
from playbook.reverting import KEPT
from playbook.reviewing import DeltaState

Status = PlaybookDelta.Status
CLOSED = (Status.REJECTED, Status.REVERTED)


def reopen(
    delta: PlaybookDelta, caller: Caller, *, version: int | None = None
) -> PlaybookDelta:
    """Let a decided delta wait again; what an accepted one did is taken back first.

    Its gates are run against the entries as they are now. Raises DeltaState for one
    that waits or that nobody decided about, Overlap when later changes stand on it,
    and EntryState when its entry is not active any more.
    """
    caller.require(Role.CURATOR, delta.project_id)
    text = delta.suggested.get("content", delta.content)
    return _reopen(delta, caller, version, reviewing.embedded(delta, text).vector)


@write
def _reopen(
    delta: PlaybookDelta, caller: Caller, version: int | None, vector: Vector | None
) -> PlaybookDelta:
    playbook, held = reviewing.hold_delta(
        delta, version, also=(*PlaybookDelta.IN_FORCE, *CLOSED)
    )
    if held.status == Status.PENDING:
        raise DeltaState("This delta waits already.")
    if held.status in PlaybookDelta.IN_FORCE:
        held = reverting.undo(held, caller, reason="Decided again.")
        playbook.refresh_from_db()
    _put_back(held)
    rebasing.renew(playbook, held, caller, vector)
    rejected.remember(held, vector)
    reviewing.audit(held, caller, "reopen")
    return held


def _put_back(delta: PlaybookDelta) -> None:
    """The words that were proposed, where a person's came in their place.

    An addition has no entry until it is accepted.
    """
    if told := delta.suggested:
        entry_id = told["entry_id"]
        delta.operation, delta.content = told["operation"], told["content"]
        delta.category, delta.payload = told["category"], dict(told["payload"])
        delta.entry_id = uuid.UUID(entry_id) if entry_id else None
        delta.producer = told.get("producer", delta.producer)
    if delta.operation == Operation.ADD:
        delta.entry = delta.expected_version = None
    for name in (KEPT, "reason_code", "repeats"):
        delta.payload.pop(name, None)
    delta.reviewer, delta.reviewed_at, delta.suggested = "", None, {}

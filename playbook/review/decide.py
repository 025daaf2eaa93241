"""A person accepts, edits or rejects a waiting delta."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from common import errors
from common.caller import Caller
from common.db import write
from inference.embedding.vector import Vector
from playbook import delta_vectors
from playbook.history import operations
from playbook.history.live_guard import UnsafeText
from playbook.lessons.draft import Producer, to_json
from playbook.lessons.person_edits import (
    refuse_alone,
    refuse_secrets,
    refuse_unknown_category,
)
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.review import (
    available,
    delta_review,
    renewal,
    verification,
)
from playbook.review.delta_review import EmbeddedText

Status = PlaybookDelta.DeltaStatus


@dataclass(frozen=True)
class Acceptance:
    """What a person wrote who accepts a delta."""

    changes: Mapping[str, Any]
    vector: Vector | None
    note: str
    in_bulk: bool = False
    replaces: PlaybookEntry | None = None


def accept(
    delta: PlaybookDelta,
    caller: Caller,
    *,
    version: int | None = None,
    note: str = "",
    in_bulk: bool = False,
    replaces: PlaybookEntry | None = None,
    embedded_text: EmbeddedText | None = None,
) -> PlaybookDelta:
    """Apply a waiting delta; an addition may replace the live rule `replaces`.

    A delta in quarantine is refused, and only a delta of low risk is accepted in a bulk. If two curators accept a delta at the same time, exactly
    one succeeds. If the entry of the delta has changed since the delta was written, the
    delta is renewed, and StaleEntry is raised: the person decides about it as it is now.
    """
    embedded_text = embedded_text or delta_review.embed_text(delta, delta.content)
    decision = Acceptance({}, embedded_text.vector, note, in_bulk, replaces)
    return _accept_or_mark(delta, caller, decision, version)


def edit_and_accept(
    delta: PlaybookDelta,
    changes: Mapping[str, Any],
    caller: Caller,
    *,
    version: int | None = None,
    note: str = "",
    embedded_text: EmbeddedText | None = None,
) -> PlaybookDelta:
    """Apply a waiting delta in a person's own words.

    The delta becomes human-written, and keeps its original proposal in `suggested`.
    """
    if not changes:
        raise errors.Invalid("An edit changes at least one column.")
    available.require("edit", delta, caller)
    refuse_secrets(delta.project, changes)
    refuse_alone(changes, caller)
    refuse_unknown_category(delta.project, changes)
    embedded_text = embedded_text or delta_review.embed_text(
        delta, changes.get("content") or delta.content
    )
    decision = Acceptance(changes, embedded_text.vector, note)
    return _accept_or_mark(delta, caller, decision, version)


def _accept_or_mark(
    delta: PlaybookDelta, caller: Caller, decision: Acceptance, version: int | None
) -> PlaybookDelta:
    try:
        return _accept_locked(delta, caller, decision, version)
    except operations.StaleEntry:
        # In its own transaction, because the refused transaction is rolled back.
        renewal.renew_stale(delta, caller)
        raise
    except UnsafeText:
        delta_review.mark_quarantined(delta, caller)
        raise


@write
def _accept_locked(
    delta: PlaybookDelta, caller: Caller, decision: Acceptance, version: int | None
) -> PlaybookDelta:
    playbook, delta = delta_review.lock_delta(
        delta,
        "edit" if decision.changes else "accept",
        caller,
        version=version,
        in_bulk=decision.in_bulk,
    )
    if delta.status == Status.STALE:
        raise operations.StaleEntry(
            f"{renewal.ENTRY_CHANGED} It is renewed; read it again, and decide."
        )
    if decision.changes:
        _reword(delta, decision.changes)
    if decision.replaces:
        _replace(delta, decision.replaces)
    delta_review.sign(delta, caller, decision.note)
    operations.apply(
        playbook,
        delta,
        caller,
        status=delta_review.accepted_status(delta),
        vector=decision.vector,
    )
    delta_vectors.drop(delta)
    delta_review.audit(delta, caller, "edit" if decision.changes else "accept")
    return delta


def _replace(delta: PlaybookDelta, entry: PlaybookEntry) -> None:
    """Have an addition take the place of a live rule, as its version is now."""
    if delta.operation != PlaybookDelta.DeltaOperation.ADD:
        raise errors.Invalid("Only an addition can replace a rule.")
    if entry.project_id != delta.project_id:
        raise errors.NotFound(f"There is no entry {entry.pk} in this project.")
    delta.targets = [{"id": str(entry.pk), "version": entry.version}]


def _reword(delta: PlaybookDelta, changes: Mapping[str, Any]) -> None:
    delta.suggested = delta_review.original_proposal(delta)
    delta.producer = Producer.HUMAN
    if delta.is_quarantined:
        # The words are a person's now; the last step reads them again.
        delta.risk = "high"
    for name, value in changes.items():
        if name in operations.LESSON_COLUMNS:
            setattr(delta, name, value)
        else:
            delta.payload[name] = to_json(value)


@write
def reject(
    delta: PlaybookDelta,
    caller: Caller,
    *,
    reason: str,
    reason_code: str = "",
    version: int | None = None,
) -> PlaybookDelta:
    """Reject a waiting or stale delta, with a reason that its producer sees.

    The rejection is kept. `playbook.lessons.repeats` recognizes the lesson when it
    recurs, and `playbook.lessons.tidy` does not propose the rejected merge
    again. Rejecting a doubt confirms the entry.
    """
    _, delta = delta_review.lock_delta(delta, "reject", caller, version=version)
    delta_review.sign(delta, caller, reason)
    if reason_code:
        delta.payload["reason_code"] = reason_code
    delta.status = Status.REJECTED
    delta.seen_again = 0
    delta.version += 1
    delta.save()
    if not delta_vectors.find(delta):
        delta_vectors.embed_later(delta.project_id)
    delta_review.audit(delta, caller, "reject")
    if delta.casts_doubt and delta.entry and delta.entry.is_live:
        verification.verify(delta.entry, caller, note=reason)
    return delta

"""Steps that all decisions about a delta share: lock, embed, sign and audit."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from access.models import ApiKey
from audit import trail
from common import errors
from common.caller import Caller
from common.db import write
from common.text import plain_text as texts
from inference.embedding.vector import Vector
from playbook import delta_vectors
from playbook.entries import neighbours
from playbook.history.revision import lock_playbook
from playbook.models import Playbook, PlaybookDelta
from playbook.proposals.proposed_change import WRITES_TEXT

Status = PlaybookDelta.DeltaStatus
# Reasons that a curator gives for a rejection (docs/playbook.md, "Deciding").
REASON_CODES = ("wrong", "duplicate", "too_vague", "one_off", "unsafe", "other")


@dataclass(frozen=True)
class EmbeddedText:
    """A text and its vector, which is None if the model did not answer."""

    text: str
    vector: Vector | None
    is_by_hand: bool = False


class OwnDelta(errors.Forbidden):
    """A key cannot approve its own proposal; another curator must decide."""

    code = "own_delta"


class DeltaState(errors.StateConflict):
    """The delta is already decided."""

    code = "delta_state"


def lock_delta(
    delta: PlaybookDelta, version: int | None, also: tuple[str, ...] = ()
) -> tuple[Playbook, PlaybookDelta]:
    """Lock the playbook, then the delta.

    Raises DeltaState if the delta is already decided.
    """
    playbook = lock_playbook(delta.project)
    delta_row = PlaybookDelta.objects.select_for_update(no_key=True).get(pk=delta.pk)
    delta_row.project = delta.project
    if delta_row.status not in (Status.PENDING, *also):
        by = f" by {delta_row.reviewer}" if delta_row.reviewer else ""
        raise DeltaState(f"This delta is already {delta_row.status}{by}.")
    refuse_other_version(delta_row, version)
    return playbook, delta_row


def refuse_other_version(delta_row: PlaybookDelta, version: int | None) -> None:
    if version is not None and delta_row.version != version:
        raise errors.StaleVersion(
            f"This delta is at version {delta_row.version}, not {version}; read it again.",
            current_version=delta_row.version,
        )


def embed_text(delta: PlaybookDelta, content: str) -> EmbeddedText:
    """Embed a delta's text, unless the vector of the text is stored.

    Views call this function before they open the transaction that handles the
    Idempotency-Key.
    """
    if not content or delta.operation not in WRITES_TEXT:
        return EmbeddedText(content, None)
    is_as_proposed = texts.similarity_hash(content) == delta.similarity_hash
    stored_vector = delta_vectors.find(delta) if is_as_proposed else None
    return EmbeddedText(content, stored_vector or neighbours.embed_text(content))


def refuse_own(delta: PlaybookDelta, caller: Caller) -> None:
    """Refuse to a key what it proposed, also as the key that it was before a rotation."""
    if caller.key_id is None or delta.key_id is None:
        return
    line = ApiKey.objects.of_same_line(caller.key_id)
    if delta.key_id == caller.key_id or line.filter(pk=delta.key_id).exists():
        raise OwnDelta


def sign(delta: PlaybookDelta, caller: Caller, note: str) -> None:
    delta.reviewer = caller.name[:200]
    delta.review_note = note[:1000]
    delta.reviewed_at = timezone.now()


def original_proposal(delta: PlaybookDelta) -> dict[str, object]:
    """Return the original proposal, which is stored before a person's words replace it."""
    return {
        "operation": delta.operation,
        "entry_id": str(delta.entry_id) if delta.entry_id else None,
        "content": delta.content,
        "category": delta.category,
        "payload": dict(delta.payload),
        "producer": delta.producer,
    }


def audit(delta: PlaybookDelta, caller: Caller, verb: str) -> None:
    trail.record(
        caller,
        f"delta.{verb}",
        project_id=delta.project_id,
        object_type="playbook_delta",
        object_id=delta.pk,
        operation=delta.operation,
    )


@write
def mark_stale(delta: PlaybookDelta, caller: Caller) -> None:
    """Mark a waiting delta stale because its entry has changed."""
    rows = PlaybookDelta.objects.filter(pk=delta.pk).pending()
    note = "The entry has changed since this proposal."
    if rows.update(status=Status.STALE, review_note=note, version=delta.version + 1):
        audit(delta, caller, "stale")

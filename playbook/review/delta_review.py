"""Steps that all decisions about a delta share: lock, embed, sign and audit."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.utils import timezone

from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from common.text import same_text
from inference.embedding.vector import Vector
from playbook import delta_vectors
from playbook.entries import neighbours
from playbook.history.operations import WRITES_TEXT
from playbook.history.revision import lock_playbook
from playbook.lessons.draft import Producer
from playbook.lessons.gates import GateResult
from playbook.models import Playbook, PlaybookDelta
from playbook.review import available
from playbook.review.available import DeltaAction
from playbook.rule_text import unsafe_phrases

Status = PlaybookDelta.DeltaStatus
# Reasons that a curator gives for a rejection (docs/playbook.md, "Deciding").
REASON_CODES = ("wrong", "duplicate", "too_vague", "one_off", "unsafe", "other")


@dataclass(frozen=True)
class EmbeddedText:
    """A text and its vector, which is None if the model did not answer."""

    text: str
    vector: Vector | None
    is_by_hand: bool = False


def lock_row(delta: PlaybookDelta) -> tuple[Playbook, PlaybookDelta]:
    """Lock the playbook, then the delta."""
    playbook = lock_playbook(delta.project)
    rows = PlaybookDelta.objects.select_for_update(no_key=True)
    delta_row: PlaybookDelta = rows.get(pk=delta.pk)
    delta_row.project = delta.project
    return playbook, delta_row


def lock_delta(
    delta: PlaybookDelta,
    action: DeltaAction,
    caller: Caller,
    *,
    version: int | None = None,
    in_bulk: bool = False,
) -> tuple[Playbook, PlaybookDelta]:
    """Lock a delta for an action of the caller.

    Raises the refusal of `playbook.review.available` if the action is impossible, and
    StaleVersion if the delta has another version.
    """
    caller.require(Role.CURATOR, delta.project_id)
    playbook, delta_row = lock_row(delta)
    available.require(action, delta_row, caller, in_bulk=in_bulk)
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
    is_as_proposed = same_text.hash_text(content) == delta.similarity_hash
    stored_vector = delta_vectors.find(delta) if is_as_proposed else None
    return EmbeddedText(content, stored_vector or neighbours.embed_text(content))


def sign(delta: PlaybookDelta, caller: Caller, note: str) -> None:
    delta.reviewer = caller.name[:200]
    delta.review_note = note[:1000]
    delta.reviewed_at = timezone.now()


def original_proposal(delta: PlaybookDelta) -> dict[str, object]:
    """Return the original proposal, which is stored before a person's words replace it."""
    if delta.suggested:
        original: dict[str, object] = delta.suggested
        return original
    return {
        "operation": delta.operation,
        "entry_id": str(delta.entry_id) if delta.entry_id else None,
        "content": delta.content,
        "category": delta.category,
        "tags": delta.tags,
        "applies_to": delta.applies_to,
        "payload": dict(delta.payload),
        "producer": delta.producer,
    }


def accepted_status(delta: PlaybookDelta) -> PlaybookDelta.DeltaStatus:
    """Return the status of an accepted delta, which says whose words it has."""
    is_edited = delta.suggested and delta.producer == Producer.HUMAN
    return Status.EDITED if is_edited else Status.ACCEPTED


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
def mark_quarantined(delta: PlaybookDelta, caller: Caller) -> None:
    """Put a waiting delta in quarantine if its own text is unsafe.

    The gates may have been weaker when the delta was proposed.
    """
    _, delta_row = lock_row(delta)
    if delta_row.status != Status.PENDING or delta_row.is_quarantined:
        return
    found = available.find_unsafe(delta_row)
    if not found:
        return
    message = unsafe_phrases.describe(found[0].phrases)
    gate = GateResult("unsafe", "fail", ", ".join(found[0].kinds), "none", message)
    delta_row.gates = [
        *(old for old in delta_row.gates if old["name"] != gate.name),
        asdict(gate),
    ]
    delta_row.risk, delta_row.review_note = "quarantine", message[:1000]
    delta_row.version += 1
    delta_row.save(update_fields=["gates", "risk", "review_note", "version"])
    audit(delta_row, caller, "quarantine")

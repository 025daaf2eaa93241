"""What the decision about a conflict does to its sides, each step a delta."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from common.caller import Caller
from common.ids import uuid7
from common.text import plain_text as texts
from inference.embedding.vector import Vector
from playbook import delta_vectors
from playbook.conflicts.conflict_sides import Side, Sides
from playbook.history.revision import lock_playbook
from playbook.models import Conflict, Playbook, PlaybookDelta, PlaybookEntry
from playbook.proposals import apply
from playbook.proposals.proposed_change import Operation, Producer
from playbook.review import decide, delta_review

Status = PlaybookDelta.DeltaStatus
Vectors = Mapping[str, Vector | None]


@dataclass(frozen=True)
class Resolution:
    """What is decided, by whom, and the vectors of the texts that it brings in."""

    conflict: Conflict
    caller: Caller
    note: str = ""
    vectors: Vectors = field(default_factory=dict)


@dataclass(frozen=True)
class SplitPart:
    """What one side becomes in a split; without a text, code makes one."""

    condition: str
    content: str = ""

    def text(self, side: Side) -> str:
        return self.content or add_condition(self.condition, side.content)


def add_condition(condition: str, content: str) -> str:
    """The rule with its condition before it, unless it names that already."""
    held = " ".join(condition.split())
    if held.casefold() in " ".join(content.split()).casefold():
        return content
    if held.casefold().startswith("when "):
        held = held[5:]
    first = content.split(maxsplit=1)[0]
    is_plain = first[:1].isalpha() and first[1:].islower() and first.isalpha()
    rest = content[:1].lower() + content[1:] if is_plain or first == "A" else content
    return f"When {held}, {rest}"


def keep_newer(
    playbook: Playbook, ruling: Resolution, found: Sides
) -> list[PlaybookDelta]:
    """The newer side stays, and the older one is superseded by it."""
    delta, loser = found.right.delta, [_target(found.left.entry)]
    if delta is None:
        return [_supersede(playbook, ruling, found.right.entry, loser)]
    delta_review.refuse_own(delta, ruling.caller)
    playbook, delta = delta_review.lock_delta(delta, None)
    if delta.operation == Operation.MERGE:
        # The targets of a merge are taken up, counters and all; a loser is not.
        done = _accept(playbook, ruling, delta, Status.ACCEPTED)
        playbook = lock_playbook(ruling.conflict.project)
        return [done, _supersede(playbook, ruling, done.entry, loser)]
    delta.targets = [*delta.targets, *loser]
    return [_accept(playbook, ruling, delta, Status.ACCEPTED)]


def keep_older(playbook: Playbook, ruling: Resolution, found: Sides) -> PlaybookDelta:
    """The older side stays."""
    if found.right.delta:
        return reject_proposal(ruling, found.right.delta)
    loser = [_target(found.right.entry)]
    return _supersede(playbook, ruling, found.left.entry, loser)


def retire_side(playbook: Playbook, ruling: Resolution, side: Side) -> PlaybookDelta:
    """One side goes, and nothing takes its place."""
    if side.delta:
        return reject_proposal(ruling, side.delta)
    return _apply_new(
        playbook, ruling, _build_delta(ruling, Operation.DEPRECATE, side.entry)
    )


def reword_side(
    playbook: Playbook, ruling: Resolution, side: Side, part: SplitPart
) -> PlaybookDelta:
    """A side stays under its condition."""
    text, condition = part.text(side), " ".join(part.condition.split())
    if side.delta is None:
        wanted = _build_delta(ruling, Operation.UPDATE, side.entry)
        wanted.content, wanted.payload = text, {"condition": condition}
        wanted.similarity_hash = texts.similarity_hash(text)
        return _apply_new(playbook, ruling, wanted)
    delta_review.refuse_own(side.delta, ruling.caller)
    playbook, delta = delta_review.lock_delta(side.delta, None)
    delta.suggested = delta_review.original_proposal(delta)
    delta.producer = Producer.HUMAN
    delta.content = text
    delta.payload["condition"] = condition
    return _accept(playbook, ruling, delta, Status.EDITED)


def reject_proposal(ruling: Resolution, delta: PlaybookDelta) -> PlaybookDelta:
    delta.project = ruling.conflict.project
    reason = ruling.note or f"{ruling.conflict.left.label} stays."
    return decide.reject(delta, ruling.caller, reason=reason)


def _accept(
    playbook: Playbook,
    ruling: Resolution,
    delta: PlaybookDelta,
    status: PlaybookDelta.DeltaStatus,
) -> PlaybookDelta:
    caller, vector = ruling.caller, ruling.vectors.get(delta.content)
    delta_review.sign(delta, caller, ruling.note)
    apply.apply_delta(playbook, delta, caller, status=status, vector=vector)
    delta_vectors.drop(delta)
    delta_review.audit(delta, caller, "accept" if status == Status.ACCEPTED else "edit")
    return delta


def _supersede(
    playbook: Playbook,
    ruling: Resolution,
    entry: PlaybookEntry | None,
    loser: list[dict[str, object]],
) -> PlaybookDelta:
    wanted = _build_delta(ruling, Operation.UPDATE, entry)
    wanted.targets = loser
    return _apply_new(playbook, ruling, wanted)


def _build_delta(
    ruling: Resolution, operation: str, entry: PlaybookEntry | None
) -> PlaybookDelta:
    assert entry
    conflict, caller = ruling.conflict, ruling.caller
    return PlaybookDelta(
        project=conflict.project,
        operation=operation,
        entry=entry,
        expected_version=entry.version,
        reason=(ruling.note or f"Decided about a conflict: {conflict.reason}")[:1000],
        producer=Producer.HUMAN,
        producer_name=caller.name[:100],
        proposed_by=caller.name[:200],
        key_id=caller.key_id,
        agent_id=caller.agent_id,
        idempotency_key=uuid7().hex,
    )


def _apply_new(
    playbook: Playbook, ruling: Resolution, delta: PlaybookDelta
) -> PlaybookDelta:
    delta_review.sign(delta, ruling.caller, ruling.note)
    delta.save(force_insert=True)
    vector = ruling.vectors.get(delta.content)
    apply.apply_delta(
        playbook, delta, ruling.caller, status=Status.APPLIED, vector=vector
    )
    return delta


def _target(entry: PlaybookEntry | None) -> dict[str, object]:
    assert entry
    return {"id": str(entry.pk), "version": entry.version}

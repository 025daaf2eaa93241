"""The steps by which a resolution changes the two sides.

Each step is a delta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from common.caller import Caller
from common.ids import uuid7
from common.text import plain_text as texts
from inference.embedding.vector import Vector
from playbook import delta_vectors
from playbook.conflicts import conflict_lifecycle, conflict_sides
from playbook.conflicts.conflict_sides import Side, Sides
from playbook.conflicts.contradiction import Contradiction
from playbook.entries.neighbours import Neighbour
from playbook.history.operations import SUPERSEDES
from playbook.models import Conflict, Playbook, PlaybookDelta, PlaybookEntry
from playbook.proposals import apply, submission
from playbook.proposals.proposed_change import Operation, Producer
from playbook.review import decide, delta_review

Status = PlaybookDelta.DeltaStatus
Vectors = Mapping[str, Vector | None]


@dataclass(frozen=True)
class Resolution:
    """A decision about a conflict, its author, and vectors of the texts that it writes."""

    conflict: Conflict
    caller: Caller
    note: str = ""
    vectors: Vectors = field(default_factory=dict)


@dataclass(frozen=True)
class SplitPart:
    """One side of a split.

    Without `content`, the condition is put before the text of the side.
    """

    condition: str
    content: str = ""

    def text(self, side: Side) -> str:
        return self.content or add_condition(self.condition, side.content)


def add_condition(condition: str, content: str) -> str:
    """Put the condition before the rule, unless the rule already contains the condition."""
    words = " ".join(condition.split())
    if words.casefold() in " ".join(content.split()).casefold():
        return content
    if words.casefold().startswith("when "):
        words = words[5:]
    first = content.split(maxsplit=1)[0]
    is_plain = first[:1].isalpha() and first[1:].islower() and first.isalpha()
    rest = content[:1].lower() + content[1:] if is_plain or first == "A" else content
    return f"When {words}, {rest}"


def keep_newer(
    playbook: Playbook, resolution: Resolution, sides: Sides
) -> PlaybookDelta:
    """Keep the newer side.

    The newer side supersedes the older side.
    """
    delta, loser = sides.right.delta, _target(sides.left.entry)
    if delta is None:
        return _supersede(playbook, resolution, sides.right.entry, [loser])
    playbook, delta = delta_review.lock_delta(
        delta,
        "accept",
        resolution.caller,
    )
    if delta.operation == Operation.MERGE:
        # A merge would add up the counters of its targets. The losing side is only
        # superseded.
        losers = [*delta.payload.get(SUPERSEDES, ()), loser]
        delta.payload = {**delta.payload, SUPERSEDES: losers}
    else:
        delta.targets = [*delta.targets, loser]
    return _accept(playbook, resolution, delta)


def keep_older(
    playbook: Playbook, resolution: Resolution, sides: Sides
) -> PlaybookDelta:
    """Keep the older side."""
    if sides.right.delta:
        return reject_proposal(resolution, sides.right.delta)
    loser = [_target(sides.right.entry)]
    return _supersede(playbook, resolution, sides.left.entry, loser)


def retire_side(
    playbook: Playbook, resolution: Resolution, side: Side
) -> PlaybookDelta:
    """Retire one side without a replacement."""
    if side.delta:
        return reject_proposal(resolution, side.delta)
    return _apply_new(
        playbook, resolution, _build_delta(resolution, Operation.DEPRECATE, side.entry)
    )


def reword_side(
    playbook: Playbook, resolution: Resolution, side: Side, part: SplitPart
) -> PlaybookDelta:
    """Keep a side, but let it apply only under its condition."""
    text, condition = part.text(side), " ".join(part.condition.split())
    if side.delta is None:
        new_delta = _build_delta(resolution, Operation.UPDATE, side.entry)
        new_delta.content, new_delta.payload = text, {"condition": condition}
        new_delta.similarity_hash = texts.similarity_hash(text)
        return _apply_new(playbook, resolution, new_delta)
    playbook, delta = delta_review.lock_delta(
        side.delta,
        "accept" if side.delta.operation == Operation.RESTORE else "edit",
        resolution.caller,
    )
    delta.suggested = delta_review.original_proposal(delta)
    delta.producer = Producer.HUMAN
    delta.content = text
    delta.payload["condition"] = condition
    return _accept(playbook, resolution, delta)


def reject_proposal(resolution: Resolution, delta: PlaybookDelta) -> PlaybookDelta:
    delta.project = resolution.conflict.project
    reason = resolution.note or f"{resolution.conflict.left.label} stays."
    return decide.reject(delta, resolution.caller, reason=reason)


def _accept(
    playbook: Playbook, resolution: Resolution, delta: PlaybookDelta
) -> PlaybookDelta:
    """Apply the proposal, unless it contradicts further entries.

    Such a proposal waits. The decision about its last conflict applies it.
    """
    caller, vector = resolution.caller, resolution.vectors.get(delta.content)
    others = submission.reevaluate(delta, vector).contradicted
    if others:
        return _wait_for(delta, others)
    status = delta_review.accepted_status(delta)
    delta_review.sign(delta, caller, resolution.note)
    apply.apply_delta(
        playbook,
        delta,
        caller,
        status=status,
        vector=vector,
    )
    delta_vectors.drop(delta)
    delta_review.audit(delta, caller, "accept" if status == Status.ACCEPTED else "edit")
    return delta


def _wait_for(delta: PlaybookDelta, others: Sequence[Neighbour]) -> PlaybookDelta:
    labels = ", ".join(near.entry.label for near in others)
    delta.review_note = f"It waits for the decision about {labels}."[:1000]
    delta.version += 1
    delta.save()
    for near in others:
        conflict_lifecycle.open_conflict(delta, near)
    return delta


def _supersede(
    playbook: Playbook,
    resolution: Resolution,
    entry: PlaybookEntry | None,
    loser: list[dict[str, object]],
) -> PlaybookDelta:
    new_delta = _build_delta(resolution, Operation.UPDATE, entry)
    new_delta.targets = loser
    return _apply_new(playbook, resolution, new_delta)


def _build_delta(
    resolution: Resolution, operation: str, entry: PlaybookEntry | None
) -> PlaybookDelta:
    assert entry
    conflict, caller = resolution.conflict, resolution.caller
    return PlaybookDelta(
        project=conflict.project,
        operation=operation,
        entry=entry,
        expected_version=entry.version,
        reason=(resolution.note or f"Decided about a conflict: {conflict.reason}")[
            :1000
        ],
        producer=Producer.HUMAN,
        producer_name=caller.name[:100],
        proposed_by=caller.name[:200],
        key_id=caller.key_id,
        agent_id=caller.agent_id,
        idempotency_key=uuid7().hex,
    )


def _apply_new(
    playbook: Playbook, resolution: Resolution, delta: PlaybookDelta
) -> PlaybookDelta:
    delta_review.sign(delta, resolution.caller, resolution.note)
    vector = resolution.vectors.get(delta.content)
    if delta.content:
        _refuse_contradiction(resolution, delta, vector)
    delta.save(force_insert=True)
    apply.apply_delta(
        playbook,
        delta,
        resolution.caller,
        status=Status.APPLIED,
        vector=vector,
    )
    return delta


def _refuse_contradiction(
    resolution: Resolution, delta: PlaybookDelta, vector: Vector | None
) -> None:
    """Refuse other words for an entry that would contradict a third entry."""
    own = conflict_sides.sides_of(resolution.conflict).right.entry
    found = submission.reevaluate(delta, vector).contradicted
    found = tuple(near for near in found if own is None or near.entry.pk != own.pk)
    if found:
        assert delta.entry
        text = f"The new text of {delta.entry.label}"
        raise Contradiction(found, caller=resolution.caller, text=text)


def _target(entry: PlaybookEntry | None) -> dict[str, object]:
    assert entry
    return {"id": str(entry.pk), "version": entry.version}

"""What the decision about a conflict does to its sides, each step a delta."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from common.caller import Caller
from common.ids import uuid7
from common.text import plain_text as texts
from inference.embedding.vector import Vector
from playbook import applying, curation, rejected, reviewing
from playbook.conflicts import Side, Sides
from playbook.drafts import Operation, Producer
from playbook.models import Conflict, Playbook, PlaybookDelta, PlaybookEntry
from playbook.revisions import hold

Status = PlaybookDelta.Status
Vectors = Mapping[str, Vector | None]


@dataclass(frozen=True)
class Ruling:
    """What is decided, by whom, and the vectors of the texts that it brings in."""

    conflict: Conflict
    caller: Caller
    note: str = ""
    vectors: Vectors = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """What one side becomes in a split; without a text, code makes one."""

    condition: str
    content: str = ""

    def text(self, side: Side) -> str:
        return self.content or conditional(self.condition, side.content)


def conditional(condition: str, content: str) -> str:
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


def take_over(playbook: Playbook, ruling: Ruling, found: Sides) -> list[PlaybookDelta]:
    """The newer side stays, and the older one is superseded by it."""
    delta, loser = found.right.delta, [_target(found.left.entry)]
    if delta is None:
        return [_put_above(playbook, ruling, found.right.entry, loser)]
    reviewing.refuse_own(delta, ruling.caller)
    playbook, delta = reviewing.hold_delta(delta, None)
    if delta.operation == Operation.MERGE:
        # The targets of a merge are taken up, counters and all; a loser is not.
        done = _accept(playbook, ruling, delta, Status.ACCEPTED)
        playbook = hold(ruling.conflict.project)
        return [done, _put_above(playbook, ruling, done.entry, loser)]
    delta.targets = [*delta.targets, *loser]
    return [_accept(playbook, ruling, delta, Status.ACCEPTED)]


def step_back(playbook: Playbook, ruling: Ruling, found: Sides) -> PlaybookDelta:
    """The older side stays."""
    if found.right.delta:
        return refuse(ruling, found.right.delta)
    loser = [_target(found.right.entry)]
    return _put_above(playbook, ruling, found.left.entry, loser)


def retire(playbook: Playbook, ruling: Ruling, side: Side) -> PlaybookDelta:
    """One side goes, and nothing takes its place."""
    if side.delta:
        return refuse(ruling, side.delta)
    return _carry_out(playbook, ruling, _new(ruling, Operation.DEPRECATE, side.entry))


def reword(playbook: Playbook, ruling: Ruling, side: Side, part: Part) -> PlaybookDelta:
    """A side stays under its condition."""
    text, condition = part.text(side), " ".join(part.condition.split())
    if side.delta is None:
        wanted = _new(ruling, Operation.UPDATE, side.entry)
        wanted.content, wanted.payload = text, {"condition": condition}
        wanted.similarity_hash = texts.similarity_hash(text)
        return _carry_out(playbook, ruling, wanted)
    reviewing.refuse_own(side.delta, ruling.caller)
    playbook, delta = reviewing.hold_delta(side.delta, None)
    delta.suggested = reviewing.as_proposed(delta)
    delta.producer = Producer.HUMAN
    delta.content = text
    delta.payload["condition"] = condition
    return _accept(playbook, ruling, delta, Status.EDITED)


def refuse(ruling: Ruling, delta: PlaybookDelta) -> PlaybookDelta:
    delta.project = ruling.conflict.project
    reason = ruling.note or f"{ruling.conflict.left.label} stays."
    return curation.reject(delta, ruling.caller, reason=reason)


def _accept(
    playbook: Playbook,
    ruling: Ruling,
    delta: PlaybookDelta,
    status: PlaybookDelta.Status,
) -> PlaybookDelta:
    caller, vector = ruling.caller, ruling.vectors.get(delta.content)
    reviewing.sign(delta, caller, ruling.note)
    applying.apply(playbook, delta, caller, status=status, vector=vector)
    rejected.forget(delta)
    reviewing.audit(delta, caller, "accept" if status == Status.ACCEPTED else "edit")
    return delta


def _put_above(
    playbook: Playbook,
    ruling: Ruling,
    entry: PlaybookEntry | None,
    loser: list[dict[str, object]],
) -> PlaybookDelta:
    wanted = _new(ruling, Operation.UPDATE, entry)
    wanted.targets = loser
    return _carry_out(playbook, ruling, wanted)


def _new(ruling: Ruling, operation: str, entry: PlaybookEntry | None) -> PlaybookDelta:
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


def _carry_out(
    playbook: Playbook, ruling: Ruling, delta: PlaybookDelta
) -> PlaybookDelta:
    reviewing.sign(delta, ruling.caller, ruling.note)
    delta.save(force_insert=True)
    vector = ruling.vectors.get(delta.content)
    applying.apply(playbook, delta, ruling.caller, status=Status.APPLIED, vector=vector)
    return delta


def _target(entry: PlaybookEntry | None) -> dict[str, object]:
    assert entry
    return {"id": str(entry.pk), "version": entry.version}

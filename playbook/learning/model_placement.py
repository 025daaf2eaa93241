"""Turn a language model's placement of a lesson into proposals.

The model chooses only an operation and entries. Code determines the versions, the
counters and the merged texts.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.proposals import proposed_change
from playbook.proposals.proposed_change import Operation, Producer, Proposal
from playbook.rule_text import merge_texts
from projects.models import Project

Choice = Literal["add", "update", "merge", "deprecate", "none"]


@dataclass(frozen=True)
class PlacementTarget:
    """An entry, and the version of the entry that the model has read."""

    entry_id: uuid.UUID
    version: int


@dataclass(frozen=True)
class Placement:
    """The choice of the model.

    For an update, `content` is the new text. For other operations, `content` is empty.
    """

    operation: Choice
    targets: tuple[PlacementTarget, ...]
    content: str
    reason: str
    producer_name: str
    producer_version: str


def to_proposals(
    project: Project, addition: Proposal, placement: Placement
) -> list[Proposal]:
    """Return the proposals that replace or accompany the addition of the lesson.

    If the placement is impossible, only the addition is returned.
    """
    entries = _entries(project, placement.targets)
    if placement.operation == "none":
        return []
    if placement.operation == "add" or len(entries) != len(placement.targets):
        return [addition]
    if placement.operation == "deprecate":
        proposal = _build_change(addition, placement, Operation.DEPRECATE, content=None)
        return [replace(proposal, entry=entries[0]), addition]
    if placement.operation == "merge" and len(entries) > 1:
        return [*_merge(addition, placement, entries), addition]
    new_text = placement.content if placement.operation == "update" else None
    content = new_text or merge_texts.merge(entries[0].content, addition.content or "")
    if content is None:
        return [addition]
    proposal = _build_change(addition, placement, Operation.UPDATE, content=content)
    return [replace(proposal, entry=entries[0])]


def is_refused(delta: PlaybookDelta) -> bool:
    """Whether the delta was refused by a gate or because of its entry, and not by a person."""
    is_known = bool(delta.reviewer or delta.payload.get("repeats"))
    return delta.status == PlaybookDelta.DeltaStatus.REJECTED and not is_known


def _entries(
    project: Project, targets: Sequence[PlacementTarget]
) -> list[PlaybookEntry]:
    """Load the entries in the order of the targets, whatever their status."""
    rows = PlaybookEntry.objects.light().filter(project=project)
    entries = rows.in_bulk([target.entry_id for target in targets])
    return [entries[t.entry_id] for t in targets if t.entry_id in entries]


def _merge(
    addition: Proposal, placement: Placement, entries: Sequence[PlaybookEntry]
) -> list[Proposal]:
    """Return a list with a merge proposal.

    Return an empty list if the texts cannot be merged.
    """
    text: str | None = entries[0].content
    for entry in entries[1:]:
        text = merge_texts.merge(text, entry.content) if text else None
    if text is None:
        return []
    proposal = _build_change(addition, placement, Operation.MERGE, content=text)
    others_at = [
        {"id": str(target.entry_id), "version": target.version}
        for target in placement.targets[1:]
    ]
    return [replace(proposal, entry=entries[0], targets=tuple(others_at))]


def _build_change(
    addition: Proposal,
    placement: Placement,
    operation: Operation,
    *,
    content: str | None,
) -> Proposal:
    """Return the change that the model chose, with the evidence of the lesson."""
    return replace(
        addition,
        operation=operation,
        expected_version=placement.targets[0].version,
        content=content,
        # An entry keeps its category, condition, action and tags.
        category=None,
        condition=None,
        action=None,
        tags=None,
        applies_to=None,
        reason=f"{placement.reason} {addition.reason}".strip(),
        producer=Producer.MODEL,
        producer_name=placement.producer_name,
        producer_version=placement.producer_version,
        idempotency_key=_key(addition, operation, placement),
    )


def _key(addition: Proposal, operation: Operation, placement: Placement) -> str:
    """Return a key for the proposal.

    The key of an update is made from the lesson. Any other key is made from the entries
    and their versions.
    """
    producer = addition.idempotency_key if operation == Operation.UPDATE else "model"
    texts = ((target.entry_id, target.version) for target in placement.targets)
    return proposed_change.entries_key(producer, operation, texts)

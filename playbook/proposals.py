"""Proposed changes: checked by the gates, then applied, left waiting, or refused.

Whatever becomes of a proposal, its delta stays as a row, with the reasons.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from django.db import transaction

from audit import recording
from common import errors
from common.caller import Caller, Role
from common.ids import uuid7
from common.writing import write
from memories.drafts import SecretFound
from playbook import (
    applying,
    checking,
    deciding,
    drafts,
    neighbours,
    operations,
    placing,
)
from playbook.drafts import WRITES_TEXT, Item, Operation, Proposal
from playbook.models import Conflict, Playbook, PlaybookDelta
from playbook.neighbours import Match, Neighbour
from playbook.revisions import DuplicateEntry, hold
from projects.models import Project


@dataclass(frozen=True)
class Prepared:
    """Proposals that were masked, embedded and compared."""

    project: Project
    caller: Caller
    items: list[Item]


def propose(
    project: Project, proposals: Sequence[Proposal], caller: Caller
) -> list[PlaybookDelta]:
    """Check proposals and apply what the policy allows; a delta for each, in order.

    A proposal whose key is known answers with its delta as it is and does nothing.
    What a person asks for and cannot be is raised: DuplicateEntry, OverBudget,
    SecretFound, StaleEntry, EntryState.
    """
    caller.require(Role.WRITER, project.pk)
    return file(prepare(project, proposals, caller)) if proposals else []


def prepare(
    project: Project, proposals: Sequence[Proposal], caller: Caller
) -> Prepared:
    """Mask, embed and compare: all that is slow, before any transaction."""
    caller.require(Role.WRITER, project.pk)
    cleaned = [_cleaned(project, proposal) for proposal in proposals]
    texts = [p.content for p, _ in cleaned if p.operation in WRITES_TEXT and p.content]
    wanted = list(dict.fromkeys(texts))
    made = neighbours.embed(wanted)
    vectors = dict(zip(wanted, made, strict=True)) if made else {}
    items = [_item(project, p, vectors, kinds) for p, kinds in cleaned]
    return Prepared(project, caller, items)


def _cleaned(project: Project, proposal: Proposal) -> tuple[Proposal, tuple[str, ...]]:
    if project.options.secrets == "allow":
        return proposal, ()
    cleaned, kinds = drafts.masked(proposal)
    if kinds and proposal.is_by_person:
        found = ", ".join(kinds)
        raise SecretFound(f"The text holds a secret ({found}); take it out.")
    return cleaned, kinds


def _item(
    project: Project,
    proposal: Proposal,
    vectors: Mapping[str, list[float]],
    kinds: tuple[str, ...],
) -> Item:
    text = proposal.content
    if proposal.operation not in WRITES_TEXT or not text:
        return Item(proposal, neighbours.NEW, secrets=kinds)
    vector = vectors.get(text)
    match = _match(project, proposal, vector)
    learned = placing.placed(proposal, match)
    if learned.operation == Operation.UPDATE and learned is not proposal:
        # Now without the entry that it updates.
        match = _match(project, learned, vector)
    return Item(learned, match, vector, kinds)


def _match(
    project: Project, proposal: Proposal, vector: Sequence[float] | None
) -> Match:
    own = {uuid.UUID(str(target["id"])) for target in proposal.targets}
    if proposal.entry:
        own.add(proposal.entry.pk)
    return neighbours.match(
        project.pk,
        proposal.content or "",
        vector,
        condition=proposal.condition or "",
        without=own,
    )


@write
def file(prepared: Prepared) -> list[PlaybookDelta]:
    """Write the deltas of prepared proposals and apply what may be applied."""
    playbook = hold(prepared.project)
    return [_file(playbook, item, prepared.caller) for item in prepared.items]


def _file(playbook: Playbook, item: Item, caller: Caller) -> PlaybookDelta:
    if known := _known(item.proposal):
        return known
    item = _met_since(playbook.project, item)
    proposal = item.proposal
    gates = checking.check(playbook, item)
    decision = deciding.decide(playbook.project, proposal, gates, caller)
    delta = _delta(playbook.project, proposal, caller)
    delta.gates = [asdict(gate) for gate in gates]
    delta.status = decision.status
    delta.risk = decision.risk
    delta.review_note = decision.reason[:1000]
    delta.save(force_insert=True)
    if delta.status == PlaybookDelta.Status.APPLIED:
        _apply(playbook, delta, item, caller)
    if item.match.verdict == "against":
        _file_conflict(delta, item.match)
    if delta.status != PlaybookDelta.Status.APPLIED:
        # What is applied is told by the audit rows of its revision.
        recording.record(
            caller,
            "delta.propose",
            project_id=delta.project_id,
            object_type="playbook_delta",
            object_id=delta.pk,
            operation=delta.operation,
            status=delta.status,
        )
    return delta


def _known(proposal: Proposal) -> PlaybookDelta | None:
    if not proposal.idempotency_key:
        return None
    rows = PlaybookDelta.objects.filter(idempotency_key=proposal.idempotency_key)
    found: PlaybookDelta | None = rows.first()
    return found


def _met_since(project: Project, item: Item) -> Item:
    """Look again under the lock: another run may have added the same text."""
    proposal = item.proposal
    if proposal.operation != Operation.ADD or not proposal.content:
        return item
    twin = neighbours.exact(project.pk, proposal.content)
    if twin is None:
        return item
    if proposal.is_by_person:
        raise DuplicateEntry(
            f"{twin.label} says this already; change that entry instead.",
            entry_id=str(twin.pk),
        )
    met = replace(item, match=Match("same", Neighbour(twin, 1.0)))
    return replace(met, proposal=placing.placed(proposal, met.match))


def _apply(
    playbook: Playbook, delta: PlaybookDelta, item: Item, caller: Caller
) -> None:
    """Apply at once; what has changed meanwhile is noted, or told to a person."""
    try:
        with transaction.atomic():
            applying.apply(
                playbook,
                delta,
                caller,
                status=PlaybookDelta.Status.APPLIED,
                vector=item.vector,
            )
    except errors.Refusal as refusal:
        if item.proposal.is_by_person:
            raise
        playbook.refresh_from_db()
        is_stale = isinstance(refusal, operations.StaleEntry)
        delta.status = delta.Status.STALE if is_stale else delta.Status.REJECTED
        delta.review_note = refusal.detail[:1000]
        delta.save(update_fields=["status", "review_note"])


def _delta(project: Project, proposal: Proposal, caller: Caller) -> PlaybookDelta:
    return PlaybookDelta(
        project=project,
        operation=proposal.operation,
        entry=proposal.entry,
        expected_version=proposal.expected_version,
        targets=[dict(target) for target in proposal.targets],
        content=proposal.content or "",
        category=proposal.category or "",
        payload=proposal.payload,
        reason=proposal.reason[:1000],
        evidence=[asdict(quote) for quote in proposal.evidence],
        producer=proposal.producer,
        producer_name=proposal.producer_name[:100],
        producer_version=proposal.producer_version[:40],
        proposed_by=caller.name[:200],
        key_id=caller.key_id,
        agent_id=proposal.agent_id or caller.agent_id,
        run_id=proposal.run_id,
        memory_id=proposal.memory_id,
        idempotency_key=proposal.idempotency_key or uuid7().hex,
    )


def _file_conflict(delta: PlaybookDelta, match: Match) -> None:
    """Show two rules that cannot both hold, unless the newer one was refused."""
    assert match.neighbour
    near = match.neighbour
    if delta.status not in (delta.Status.PENDING, *delta.IN_FORCE):
        return
    Conflict.objects.create(
        project_id=delta.project_id,
        left=near.entry,
        right=delta.entry if delta.entry_id != near.entry.pk else None,
        delta=delta,
        reason=f"cosine {near.similarity}, but {near.disagreement}"[:500],
    )

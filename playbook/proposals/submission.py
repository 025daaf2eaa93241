"""Proposed changes: checked by the gates, then applied, left waiting, or refused.

Whatever becomes of a proposal, its delta stays as a row, with the reasons.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.db import transaction

from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from common.ids import uuid7
from inference.embedding.vector import Vector
from memories.store.secret_policy import SecretFound
from playbook import delta_vectors
from playbook.conflicts import conflict_lifecycle
from playbook.entries import matches, neighbours
from playbook.entries.matches import Match
from playbook.history import operations
from playbook.history.revision import DuplicateEntry, lock_playbook
from playbook.models import Playbook, PlaybookDelta
from playbook.proposals import (
    apply,
    gates,
    placement,
    policy,
    proposed_change,
    recurrence,
)
from playbook.proposals.proposed_change import (
    WRITES_TEXT,
    Operation,
    PreparedProposal,
    Proposal,
)
from projects.models import Project


@dataclass(frozen=True)
class PreparedProposals:
    """Proposals that were masked, embedded and compared with a revision."""

    project: Project
    caller: Caller
    items: list[PreparedProposal]
    revision: int


def propose(
    project: Project, proposals: Sequence[Proposal], caller: Caller
) -> list[PlaybookDelta]:
    """Check proposals and apply what the policy allows; a delta for each, in order.

    A proposal whose key is known answers with its delta as it is and does nothing.
    What a person asks for and cannot be is raised: DuplicateEntry, OverBudget,
    SecretFound, StaleEntry, EntryState.
    """
    caller.require(Role.WRITER, project.pk)
    return submit(prepare(project, proposals, caller)) if proposals else []


def prepare(
    project: Project, proposals: Sequence[Proposal], caller: Caller
) -> PreparedProposals:
    """Mask, embed and compare: all that is slow, before any transaction."""
    caller.require(Role.WRITER, project.pk)
    cleaned = [_mask_secrets(project, proposal) for proposal in proposals]
    texts = [p.content for p, _ in cleaned if _is_embedded_now(p) and p.content]
    wanted = list(dict.fromkeys(texts))
    made = neighbours.embed_texts(wanted)
    vectors = dict(zip(wanted, made, strict=True)) if made else {}
    # Read first: what is added from here on is looked at again under the lock.
    revision = _current_revision(project)
    items = [
        _prepare_proposal(project, p, vectors.get(p.content or ""), kinds)
        for p, kinds in cleaned
    ]
    return PreparedProposals(project, caller, items, revision)


def _is_embedded_now(proposal: Proposal) -> bool:
    """An import has thousands of texts, which a job embeds while they wait."""
    return proposal.operation in WRITES_TEXT and not proposal.origin


def _current_revision(project: Project) -> int:
    rows = Playbook.objects.filter(project=project).values_list("revision", flat=True)
    return rows.first() or 0


def _mask_secrets(
    project: Project, proposal: Proposal
) -> tuple[Proposal, tuple[str, ...]]:
    if project.options.secrets == "allow":
        return proposal, ()
    cleaned, kinds = proposed_change.mask_secrets(proposal)
    if kinds and proposal.is_by_person:
        found = ", ".join(kinds)
        raise SecretFound(f"The text holds a secret ({found}); take it out.")
    return cleaned, kinds


def _prepare_proposal(
    project: Project,
    proposal: Proposal,
    vector: Vector | None,
    kinds: tuple[str, ...],
) -> PreparedProposal:
    if proposal.entry:
        # The door has read it before the revision that is compared with.
        proposal = replace(proposal, entry=operations.load_entry(proposal.entry.pk))
    if proposal.operation not in WRITES_TEXT or not proposal.content:
        return PreparedProposal(proposal, proposal, matches.NO_MATCH, secrets=kinds)
    match = _find_match(project, proposal, vector)
    learned = placement.place(proposal, match)
    if learned.operation == Operation.UPDATE and learned is not proposal:
        # Now without the entry that it updates.
        match = _find_match(project, learned, vector)
    return PreparedProposal(proposal, learned, match, vector, kinds)


def reevaluate(delta: PlaybookDelta, vector: Vector | None) -> PreparedProposal:
    """What a waiting delta proposes, compared with the playbook as it is now."""
    proposal = proposed_change.from_delta(delta)
    if proposal.operation not in WRITES_TEXT or not proposal.content:
        return PreparedProposal(proposal, proposal, matches.NO_MATCH)
    match = _find_match(delta.project, proposal, vector)
    return PreparedProposal(proposal, proposal, match, vector)


def _find_match(project: Project, proposal: Proposal, vector: Vector | None) -> Match:
    own, entry = {uuid.UUID(str(t["id"])) for t in proposal.targets}, proposal.entry
    condition, action = proposal.condition, proposal.action
    if entry:
        # What a change does not name stays as it is.
        condition = entry.condition if condition is None else condition
        action = entry.action if action is None else action
        own.add(entry.pk)
    return matches.find_match(
        project.pk,
        proposal.content or "",
        vector,
        condition=condition or "",
        action=action or "",
        without=own,
    )


@write
def submit(prepared: PreparedProposals) -> list[PlaybookDelta]:
    """Write the deltas of prepared proposals and apply what may be applied."""
    playbook = lock_playbook(prepared.project)
    deltas = [_submit_one(playbook, item, prepared) for item in prepared.items]
    waits = any(delta.status == PlaybookDelta.DeltaStatus.PENDING for delta in deltas)
    left = [
        i for i in prepared.items if i.hash and not i.vector and not i.original.origin
    ]
    if waits and left:
        delta_vectors.embed_later(prepared.project.pk)
    return deltas


def _submit_one(
    playbook: Playbook, item: PreparedProposal, prepared: PreparedProposals
) -> PlaybookDelta:
    if known := _find_known(item.original):
        return known
    caller = prepared.caller
    if playbook.revision != prepared.revision:
        # Another run, or an earlier item of this one, may have said the same.
        item = _prepare_proposal(
            playbook.project, item.original, item.vector, item.secrets
        )
    _refuse_duplicate(item)
    proposal = item.proposal
    results = gates.evaluate(playbook, item, key_id=caller.key_id)
    decision = policy.decide(playbook.project, proposal, results, caller)
    decision = recurrence.reconsider(playbook.project, item, decision)
    delta = _build_delta(playbook.project, item, caller)
    delta.gates = [asdict(result) for result in results]
    delta.status = decision.status
    delta.risk = decision.risk
    delta.review_note = decision.reason[:1000]
    if delta.status == PlaybookDelta.DeltaStatus.PENDING:
        _pin_versions(delta)
    if decision.repeats:
        delta.payload["repeats"] = str(decision.repeats)
    delta.save(force_insert=True)
    delta_vectors.keep(delta, item.vector)
    if delta.status == PlaybookDelta.DeltaStatus.APPLIED:
        _apply(playbook, delta, item, caller)
    conflict_lifecycle.open_conflict(delta, item.match)
    if delta.status != PlaybookDelta.DeltaStatus.APPLIED:
        # What is applied is told by the audit rows of its revision.
        trail.record(
            caller,
            "delta.propose",
            project_id=delta.project_id,
            object_type="playbook_delta",
            object_id=delta.pk,
            operation=delta.operation,
            status=delta.status,
        )
    return delta


def _find_known(proposal: Proposal) -> PlaybookDelta | None:
    if not proposal.idempotency_key:
        return None
    rows = PlaybookDelta.objects.filter(idempotency_key=proposal.idempotency_key)
    found: PlaybookDelta | None = rows.first()
    return found


def _refuse_duplicate(item: PreparedProposal) -> None:
    """A person who adds a text that an entry has is told so at once."""
    proposal, near = item.proposal, item.match.neighbour
    is_addition = proposal.operation == Operation.ADD and proposal.is_by_person
    if (
        is_addition
        and not proposal.origin
        and near
        and near.entry.similarity_hash == item.hash
    ):
        raise DuplicateEntry(
            f"{near.entry.label} says this already; change that entry instead.",
            entry_id=str(near.entry.pk),
        )


def _apply(
    playbook: Playbook, delta: PlaybookDelta, item: PreparedProposal, caller: Caller
) -> None:
    """Apply at once; what has changed meanwhile is noted, or told to a person."""
    try:
        with transaction.atomic():
            apply.apply_delta(
                playbook,
                delta,
                caller,
                status=PlaybookDelta.DeltaStatus.APPLIED,
                vector=item.own_vector,
            )
    except errors.Refusal as refusal:
        if item.proposal.is_by_person:
            raise
        playbook.refresh_from_db()
        is_stale = isinstance(refusal, operations.StaleEntry)
        delta.status = (
            delta.DeltaStatus.STALE if is_stale else delta.DeltaStatus.REJECTED
        )
        delta.review_note = refusal.detail[:1000]
        delta.save(update_fields=["status", "review_note"])


def _build_delta(
    project: Project, item: PreparedProposal, caller: Caller
) -> PlaybookDelta:
    proposal = item.proposal
    return PlaybookDelta(
        project=project,
        operation=proposal.operation,
        entry=proposal.entry,
        expected_version=proposal.expected_version,
        targets=[dict(target) for target in proposal.targets],
        content=proposal.content or "",
        category=proposal.category or "",
        payload=proposal.payload | _neighbour_payload(item.match),
        similarity_hash=item.hash,
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


def _pin_versions(delta: PlaybookDelta) -> None:
    """What waits is for its entries as they are now, unless other versions are named."""
    if delta.entry and delta.expected_version is None:
        delta.expected_version = delta.entry.version
    for target in delta.targets:
        if target.get("version") is None:
            entry = operations.load_entry(uuid.UUID(str(target["id"])))
            target["version"] = entry.version


def _neighbour_payload(match: Match) -> dict[str, Any]:
    """The neighbour that the gates speak of, with the text that it had."""
    if match.neighbour is None:
        return {}
    entry = match.neighbour.entry
    told = {"entry_id": str(entry.pk), "label": entry.label}
    return {
        "near": told
        | {
            "similarity": match.neighbour.similarity,
            "similarity_hash": entry.similarity_hash,
        }
    }

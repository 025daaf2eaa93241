"""Submit proposals: run the gates, then apply the proposal, let it wait, or reject it.

Every proposal leaves a delta, which records the result and the reasons for the result.
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
from playbook import delta_vectors
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
    privacy,
    proposed_change,
    recurrence,
    witnesses,
)
from playbook.proposals.proposed_change import (
    WRITES_TEXT,
    Operation,
    PreparedProposal,
    Proposal,
)
from projects import secret_policy
from projects.models import Project

# Of more texts, as a large import has, a job makes the vectors; this many take about 5 s.
MAX_EMBEDDED = 100


@dataclass(frozen=True)
class PreparedProposals:
    """Proposals that were masked, embedded and compared with the entries of a revision."""

    project: Project
    caller: Caller
    items: list[PreparedProposal]
    revision: int


def propose(
    project: Project, proposals: Sequence[Proposal], caller: Caller
) -> list[PlaybookDelta]:
    """Check proposals, and apply the proposals that the policy allows.

    Return one delta for each proposal, in order. If a delta with the proposal's
    idempotency key exists, this delta is returned and nothing else is done. If the
    change of a person is impossible, DuplicateEntry, OverBudget, SecretFound,
    StaleEntry or EntryState is raised.
    """
    caller.require(Role.WRITER, project.pk)
    return submit(prepare(project, proposals, caller)) if proposals else []


def prepare(
    project: Project, proposals: Sequence[Proposal], caller: Caller
) -> PreparedProposals:
    """Mask, embed and compare proposals.

    These slow steps run before any transaction.
    """
    caller.require(Role.WRITER, project.pk)
    masked = [_mask_secrets(project, proposal) for proposal in proposals]
    texts = [p.content for p, _ in masked if p.operation in WRITES_TEXT and p.content]
    unique_texts = list(dict.fromkeys(texts))
    is_large = len(unique_texts) > MAX_EMBEDDED
    embedded = None if is_large else neighbours.embed_texts(unique_texts)
    vectors = dict(zip(unique_texts, embedded, strict=True)) if embedded else {}
    # The revision is read first. If the revision changes after this line, `submit`
    # compares again.
    revision = _current_revision(project)
    items = [
        _prepare_proposal(project, p, vectors.get(p.content or ""), kinds)
        for p, kinds in masked
    ]
    return PreparedProposals(project, caller, items, revision)


def _current_revision(project: Project) -> int:
    rows = Playbook.objects.filter(project=project).values_list("revision", flat=True)
    return rows.first() or 0


def _mask_secrets(
    project: Project, proposal: Proposal
) -> tuple[Proposal, tuple[str, ...]]:
    if project.options.secrets == "allow":
        return proposal, ()
    masked, kinds = proposed_change.mask_secrets(proposal)
    if kinds and proposal.is_by_person:
        secret_policy.refuse(kinds)
    return masked, kinds


def _prepare_proposal(
    project: Project,
    proposal: Proposal,
    vector: Vector | None,
    kinds: tuple[str, ...],
) -> PreparedProposal:
    if proposal.entry:
        # The caller may have read the entry before this revision, so the entry is loaded
        # again.
        proposal = replace(proposal, entry=operations.load_entry(proposal.entry.pk))
    match = _compare(project, proposal, vector)
    placed = placement.place(proposal, match)
    return PreparedProposal(proposal, placed, match, vector, kinds)


def reevaluate(delta: PlaybookDelta, vector: Vector | None) -> PreparedProposal:
    """Compare the proposal of a delta with the current playbook."""
    proposal = proposed_change.from_delta(delta)
    match = _compare(delta.project, proposal, vector)
    return PreparedProposal(proposal, proposal, match, vector)


def _compare(project: Project, proposal: Proposal, vector: Vector | None) -> Match:
    """Compare the text that the proposal writes with the active entries."""
    entry = proposal.entry
    if not (proposal.makes_rule and proposal.content):
        return matches.NO_MATCH
    own = {uuid.UUID(str(target["id"])) for target in proposal.targets}
    return matches.compare_with_entries(
        project.pk,
        proposal.content,
        vector,
        condition=proposal.rule_column("condition"),
        action=proposal.rule_column("action"),
        without=own | ({entry.pk} if entry else set()),
    )


@write
def submit(prepared: PreparedProposals) -> list[PlaybookDelta]:
    """Write the deltas of prepared proposals, and apply the deltas that the policy allows."""
    playbook = lock_playbook(prepared.project)
    deltas = [_submit_one(playbook, item, prepared) for item in prepared.items]
    waits = any(delta.status == PlaybookDelta.DeltaStatus.PENDING for delta in deltas)
    unembedded = [item for item in prepared.items if item.hash and not item.vector]
    if waits and unembedded:
        delta_vectors.embed_later(prepared.project.pk)
    return deltas


def _submit_one(
    playbook: Playbook, item: PreparedProposal, prepared: PreparedProposals
) -> PlaybookDelta:
    if earlier := _find_known(item.original):
        return earlier
    caller = prepared.caller
    if playbook.revision != prepared.revision:
        # Another run, or an earlier proposal of this list, may have added the same rule.
        item = _prepare_proposal(
            playbook.project, item.original, item.vector, item.secrets
        )
    _refuse_duplicate(item)
    proposal = item.proposal
    results = gates.evaluate(playbook, item, key_id=caller.key_id)
    decision = policy.decide(playbook.project, proposal, results, caller)
    decision = privacy.hold_private(proposal, decision)
    decision = recurrence.reconsider(playbook.project, item, decision, caller)
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
    if decision.confirms:
        witnesses.confirm(playbook, decision.confirms, delta, caller)
    if delta.status != PlaybookDelta.DeltaStatus.APPLIED:
        # The revision of an applied delta writes its audit rows.
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
    """Raise DuplicateEntry if a person adds a text that an active entry has."""
    proposal, near = item.proposal, item.match.neighbour
    is_addition = proposal.operation == Operation.ADD and proposal.is_by_person
    if (
        is_addition
        and not proposal.origin
        and near
        and near.entry.similarity_hash == item.hash
    ):
        raise DuplicateEntry(
            f"{near.entry.label} already says this; change that entry instead.",
            entry_id=str(near.entry.pk),
        )


def _apply(
    playbook: Playbook, delta: PlaybookDelta, item: PreparedProposal, caller: Caller
) -> None:
    """Apply a delta.

    If the delta is refused, the delta is marked stale or rejected. For a person, the
    refusal is also raised.
    """
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
        person=caller.person,
        agent_id=proposal.agent_id or caller.agent_id,
        run_id=proposal.run_id,
        memory_id=proposal.memory_id,
        idempotency_key=proposal.idempotency_key or uuid7().hex,
    )


def _pin_versions(delta: PlaybookDelta) -> None:
    """Fill in the current versions of the delta's entries.

    Versions that the proposal names are kept.
    """
    if delta.entry and delta.expected_version is None:
        delta.expected_version = delta.entry.version
    for target in delta.targets:
        if target.get("version") is None:
            entry = operations.load_entry(uuid.UUID(str(target["id"])))
            target["version"] = entry.version


def _neighbour_payload(match: Match) -> dict[str, Any]:
    """Return the neighbour that the gates name, with the hash of the neighbour's current text."""
    if match.neighbour is None:
        return {}
    entry = match.neighbour.entry
    neighbour = {"entry_id": str(entry.pk), "label": entry.label}
    return {
        "near": neighbour
        | {
            "similarity": match.neighbour.similarity,
            "similarity_hash": entry.similarity_hash,
        }
    }

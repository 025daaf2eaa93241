"""Let a person decide what becomes of a lesson from one user's memory."""

from __future__ import annotations

from dataclasses import replace

from django.db.models import QuerySet

from memories.models import Memory
from memories.queries import PRIVATE_SCOPES
from playbook.models import PlaybookDelta
from playbook.proposals.policy import Decision
from playbook.proposals.proposed_change import Operation, Proposal

Status = PlaybookDelta.DeltaStatus
REASON = (
    "It comes from the memory of one user, so a person decides whether all read it."
)


def hold_private(proposal: Proposal, decision: Decision) -> Decision:
    """Hold a change that would show the text of a private memory to the whole project.

    A vote shows no text. A person who writes a rule has decided already.
    """
    is_free = proposal.operation == Operation.VOTE or proposal.is_by_person
    would_show = decision.status == Status.APPLIED or decision.needs_witness
    if is_free or not would_show or proposal.memory_id is None:
        return decision
    if not private_memories().filter(pk=proposal.memory_id).exists():
        return decision
    return replace(decision, status=Status.PENDING, reason=REASON, needs_witness=False)


def private_memories() -> QuerySet[Memory]:
    """Return the memories that only one user may read."""
    rows: QuerySet[Memory] = Memory.objects.filter(scope_kind__in=PRIVATE_SCOPES)
    return rows

"""How much of a playbook goes without a person, added up over what went before."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from inference import tokens
from playbook.models import (
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
    format_line,
)
from playbook.proposals.proposed_change import Operation, Proposal
from playbook.rule_text import text_gates
from playbook.rule_text.text_gates import GateResult

# What one agent or key took out in this time counts together, in however many runs.
WINDOW = timedelta(days=1)
# What takes text out of the playbook, or may.
TEXT_REMOVING_OPERATIONS = (
    Operation.UPDATE,
    Operation.MERGE,
    Operation.DELETE,
    Operation.DEPRECATE,
)


@dataclass(frozen=True)
class Loss:
    """Entries that were removed or shrunk, and the tokens that went with them."""

    entries: frozenset[uuid.UUID]
    tokens: int


def removal_gates(
    playbook: Playbook,
    proposal: Proposal,
    touched: Sequence[PlaybookEntry],
    *,
    key_id: uuid.UUID | None,
) -> Iterator[GateResult]:
    """The share of entries and of tokens, with what went before it.

    An update that takes nothing away is not counted. Read under the lock, so that two
    at once see each other.
    """
    lost = _loss(proposal, touched)
    if not lost.entries:
        return
    before = _earlier_loss(playbook, proposal, key_id)
    elsewhere = {
        pk: n for pk, n in proposal.import_removals.items() if pk not in lost.entries
    }
    live = PlaybookEntry.objects.current().filter(project=playbook.project).count()
    gone = lost.entries | before.entries | elsewhere.keys()
    yield text_gates.check_blast_radius(len(gone), live)
    tokens_gone = lost.tokens + before.tokens + sum(elsewhere.values())
    yield text_gates.check_blast_radius(tokens_gone, playbook.tokens)


def _loss(proposal: Proposal, touched: Sequence[PlaybookEntry]) -> Loss:
    """A merge removes the others; its own entry counts when it becomes shorter."""
    own, after = proposal.entry, 0
    if own and proposal.operation in (Operation.UPDATE, Operation.MERGE):
        after = tokens.estimate(format_line(own.label, proposal.content or own.content))
    gone = {
        entry.pk
        for entry in touched
        if own is None or entry.pk != own.pk or after < own.tokens
    }
    return Loss(frozenset(gone), max(sum(e.tokens for e in touched) - after, 0))


def _earlier_loss(
    playbook: Playbook, proposal: Proposal, key_id: uuid.UUID | None
) -> Loss:
    rows = PlaybookChange.objects.filter(
        project_id=playbook.project_id,
        reverts_id=None,
        delta_id__in=_deltas_of_same_author(playbook, proposal, key_id).values("pk"),
    )
    removed = rows.filter(operation=PlaybookChange.ChangeOperation.DELETE)
    gone = set(removed.values_list("entry_id", flat=True))
    texts = PlaybookEntry.objects.filter(pk__in=gone).values_list("label", "content")
    lost = sum(tokens.estimate(format_line(name, content)) for name, content in texts)
    edited = rows.filter(before__has_key="content", after__has_key="content")
    for change in edited.only("entry_id", "before", "after"):
        old, new = (
            tokens.estimate(side["content"]) for side in (change.before, change.after)
        )
        if new < old:
            gone.add(change.entry_id)
            lost += old - new
    return Loss(frozenset(gone), lost)


def _deltas_of_same_author(
    playbook: Playbook, proposal: Proposal, key_id: uuid.UUID | None
) -> QuerySet[PlaybookDelta]:
    """Deltas that no person decided: of the run, and of its agent or key of late."""
    who = Q(agent_id=proposal.agent_id)
    if key_id:
        who |= Q(key_id=key_id)
    together = Q(created_at__gte=timezone.now() - WINDOW) & who
    if proposal.run_id:
        together |= Q(run_id=proposal.run_id)
    applied: QuerySet[PlaybookDelta] = PlaybookDelta.objects.filter(
        together,
        project_id=playbook.project_id,
        status=PlaybookDelta.DeltaStatus.APPLIED,
        operation__in=TEXT_REMOVING_OPERATIONS,
    )
    return applied.exclude(producer=PlaybookDelta.Producer.HUMAN)

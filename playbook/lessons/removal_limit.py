"""Limit how much of a playbook is removed or shrunk without a person.

Removals are summed over time.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from access.models import ApiKey
from inference import tokens
from playbook.lessons.draft import Draft, Operation
from playbook.models import (
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
    format_line,
)

# Removals by one agent or one key within this time are summed, over all runs of the agent
# or key.
WINDOW = timedelta(days=1)
# Operations that may remove text from the playbook.
TEXT_REMOVING_OPERATIONS = (
    Operation.UPDATE,
    Operation.MERGE,
    Operation.DELETE,
    Operation.DEPRECATE,
)


@dataclass(frozen=True)
class Loss:
    """Entries that are removed or shrunk, and the number of tokens that are lost."""

    entries: frozenset[uuid.UUID]
    tokens: int


def share_removed(
    playbook: Playbook,
    draft: Draft,
    entries: Sequence[PlaybookEntry],
    *,
    key_id: uuid.UUID | None,
) -> float:
    """Return the share of the entries, or of the tokens if it is larger, that is lost.

    Earlier losses by the same author are included. The caller holds the playbook's lock, so
    that concurrent changes count each other.
    """
    delta = draft.delta
    removes = delta.operation in TEXT_REMOVING_OPERATIONS or delta.targets
    loss = _loss(delta, entries)
    if not (removes and loss.entries):
        return 0.0
    before = _earlier_loss(playbook, delta, key_id)
    elsewhere = {pk: n for pk, n in draft.losses.items() if pk not in loss.entries}
    live = PlaybookEntry.objects.current().filter(project=playbook.project).count()
    gone = len(loss.entries | before.entries | elsewhere.keys())
    tokens_gone = loss.tokens + before.tokens + sum(elsewhere.values())
    return max(gone / max(live, 1), tokens_gone / max(playbook.tokens, 1))


def _loss(delta: PlaybookDelta, entries: Sequence[PlaybookEntry]) -> Loss:
    """Return what a change removes; the entry that it rewrites counts if its text shrinks."""
    own, after = delta.entry, 0
    if own and delta.operation in (Operation.UPDATE, Operation.MERGE):
        after = tokens.estimate(format_line(own.label, delta.content or own.content))
    entry_ids = {
        entry.pk
        for entry in entries
        if own is None or entry.pk != own.pk or after < own.tokens
    }
    return Loss(frozenset(entry_ids), max(sum(e.tokens for e in entries) - after, 0))


def _earlier_loss(
    playbook: Playbook, delta: PlaybookDelta, key_id: uuid.UUID | None
) -> Loss:
    rows = PlaybookChange.objects.filter(
        project_id=playbook.project_id,
        reverts_id=None,
        delta_id__in=_deltas_of_same_author(playbook, delta, key_id).values("pk"),
    )
    removed = rows.filter(operation=PlaybookChange.ChangeOperation.DELETE)
    entry_ids = set(removed.values_list("entry_id", flat=True))
    texts = PlaybookEntry.objects.filter(pk__in=entry_ids).values_list(
        "label", "content"
    )
    loss = sum(tokens.estimate(format_line(name, content)) for name, content in texts)
    edited = rows.filter(before__has_key="content", after__has_key="content")
    for change in edited.only("entry_id", "before", "after"):
        old, new = (
            tokens.estimate(side["content"]) for side in (change.before, change.after)
        )
        if new < old:
            entry_ids.add(change.entry_id)
            loss += old - new
    return Loss(frozenset(entry_ids), loss)


def _deltas_of_same_author(
    playbook: Playbook, delta: PlaybookDelta, key_id: uuid.UUID | None
) -> QuerySet[PlaybookDelta]:
    """Select the deltas by this author that were applied without a person.

    Deltas of the same run are selected, and recent deltas of the same agent or key.
    """
    who = Q(agent_id=delta.agent_id)
    if key_id:
        line = ApiKey.objects.of_same_line(key_id)
        who |= Q(key_id=key_id) | Q(key_id__in=line.values("pk"))
    together = Q(created_at__gte=timezone.now() - WINDOW) & who
    if delta.run_id:
        together |= Q(run_id=delta.run_id)
    applied: QuerySet[PlaybookDelta] = PlaybookDelta.objects.filter(
        together,
        project_id=playbook.project_id,
        status=PlaybookDelta.DeltaStatus.APPLIED,
        operation__in=TEXT_REMOVING_OPERATIONS,
    )
    return applied.exclude(producer=PlaybookDelta.Producer.HUMAN)

"""Limit how much of a playbook is removed or shrunk without a person.

Removals are summed over time.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta

from django.db.models import Q
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


Losses = dict[uuid.UUID, int]  # tokens by entry


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
    delta, own = draft.delta, draft.delta.entry
    if delta.operation not in TEXT_REMOVING_OPERATIONS and not delta.targets:
        return 0.0
    lost = {entry.pk: entry.tokens for entry in entries}
    if own and delta.operation in (Operation.UPDATE, Operation.MERGE):
        line = format_line(own.label, delta.content or own.content)
        lost[own.pk] -= tokens.estimate(line)
    if not any(size > 0 for size in lost.values()):
        return 0.0
    lost = {**_earlier_losses(playbook, delta, key_id), **draft.losses, **lost}
    count = sum(size > 0 for size in lost.values())
    live = PlaybookEntry.objects.current().filter(project=playbook.project).count()
    return max(count / max(live, 1), sum(lost.values()) / max(playbook.tokens, 1))


def _earlier_losses(
    playbook: Playbook, delta: PlaybookDelta, key_id: uuid.UUID | None
) -> Losses:
    """Return what this author removed without a person: in the same run, and of late."""
    who = Q(agent_id=delta.agent_id)
    if key_id:
        line = ApiKey.objects.of_same_line(key_id)
        who |= Q(key_id=key_id) | Q(key_id__in=line.values("pk"))
    together = Q(created_at__gte=timezone.now() - WINDOW) & who
    if delta.run_id:
        together |= Q(run_id=delta.run_id)
    deltas = PlaybookDelta.objects.filter(
        together,
        project_id=playbook.project_id,
        status=PlaybookDelta.DeltaStatus.APPLIED,
        operation__in=TEXT_REMOVING_OPERATIONS,
    ).exclude(producer=PlaybookDelta.Producer.HUMAN)
    changes = PlaybookChange.objects.filter(
        project_id=playbook.project_id,
        reverts_id=None,
        delta_id__in=deltas.values("pk"),
    )
    lost: Losses = {}
    for change in changes.filter(before__has_key="content"):
        sides = (change.before["content"], change.after["content"])
        old, new = map(tokens.estimate, sides)
        lost[change.entry_id] = lost.get(change.entry_id, 0) + max(old - new, 0)
    removed = changes.filter(operation=PlaybookChange.ChangeOperation.DELETE)
    gone = PlaybookEntry.objects.filter(pk__in=removed.values("entry_id"))
    for pk, label, content in gone.values_list("pk", "label", "content"):
        lost[pk] = tokens.estimate(format_line(label, content))
    return lost

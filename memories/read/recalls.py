"""Note when a fact or an episode was last found for a question.

What is never found may be pruned (`memories.retention.prune`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from memories.models import Memory

KINDS = (Memory.Kind.FACT.value, Memory.Kind.EPISODE.value)
# A memory that is found all the time is written once a day.
PAUSE = timedelta(days=1)


def note_recalled(memories: Iterable[Memory]) -> None:
    """Set `recalled_at` of the facts and episodes that were not noted in the last day.

    A row that another writer has locked is left for the next time.
    """
    now = timezone.now()
    due = [
        memory.pk
        for memory in memories
        if memory.kind in KINDS
        and (memory.recalled_at is None or memory.recalled_at < now - PAUSE)
    ]
    if not due:
        return
    with transaction.atomic():
        rows = Memory.objects.filter(pk__in=due).order_by("pk")
        free = rows.select_for_update(no_key=True, skip_locked=True)
        chosen = list(free.values_list("pk", flat=True))
        Memory.objects.filter(pk__in=chosen).update(recalled_at=now)

"""Open conflicts between entries that are active already.

No decision makes such a pair. It comes from an export with its history, or its vectors
arrived after both entries.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator
from datetime import timedelta
from typing import Any

from django.db.models import Q

from common.caller import SYSTEM, Caller
from common.db import write
from jobs import runner
from playbook.conflicts import conflict_lifecycle
from playbook.entries import entry_vectors, matches
from playbook.entries.neighbours import Neighbour
from playbook.entries.opposed_rules import RuleIndex
from playbook.history.revision import lock_playbook
from playbook.models import Conflict, PlaybookEntry
from projects.models import Project


def open_between(
    project: Project, entry_ids: Collection[uuid.UUID], caller: Caller
) -> int:
    """Open a conflict for each of these entries and each entry that it contradicts.

    Return the number of new conflicts. A pair that has had a conflict is left out,
    because a person may have decided it.
    """
    rules = RuleIndex.load(project.pk)
    rows = PlaybookEntry.objects.current().light().filter(pk__in=entry_ids)
    pairs = [
        (entry, near)
        for entry in rows.order_by("pk")
        for near in matches.find_contradicted(
            entry, rules, settled=_earlier_opponents(entry.pk)
        )
    ]
    return _open_conflicts(project, pairs, caller) if pairs else 0


def _earlier_opponents(entry_id: uuid.UUID) -> Iterator[uuid.UUID]:
    rows = Conflict.objects.filter(
        Q(left=entry_id) | Q(right=entry_id) | Q(delta__entry=entry_id)
    )
    for sides in rows.values_list("left", "right", "delta__entry"):
        yield from (pk for pk in sides if pk)


@write
def _open_conflicts(
    project: Project, pairs: Iterable[tuple[PlaybookEntry, Neighbour]], caller: Caller
) -> int:
    lock_playbook(project)
    opened = 0
    for entry, near in pairs:
        older, newer = sorted((entry, near.entry), key=lambda one: one.pk)
        opened += conflict_lifecycle.open_active(older, newer, near, caller)
    return opened


@runner.handler(entry_vectors.COMPARE, attempts=5, lease=timedelta(minutes=5))
def compare_embedded(run: runner.JobRun) -> dict[str, Any]:
    """Compare entries whose vectors were stored late with the other entries."""
    assert run.job.project_id
    project = Project.objects.get(pk=run.job.project_id)
    entry_ids = [uuid.UUID(pk) for pk in run.job.args["entries"]]
    return {"opened": open_between(project, entry_ids, SYSTEM)}

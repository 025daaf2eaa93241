"""The playbook at a revision, made from its change rows alone."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from playbook.models import PlaybookChange, PlaybookEntry
from playbook.revisions import SUPPORTS, State, state
from projects.models import Project

States = dict[uuid.UUID, State]


def state_at(project: Project, revision: int | None = None) -> States:
    """Every entry there was at a revision, the last one if None: {entry id: state}."""
    rows = PlaybookChange.objects.filter(project_id=project.pk).in_order()
    if revision is not None:
        rows = rows.filter(revision__lte=revision)
    return fold(rows.only("entry_id", "before", "after").iterator(chunk_size=2000))


def fold(changes: Iterable[PlaybookChange]) -> States:
    """Apply changes, oldest first, to an empty playbook."""
    states: States = {}
    for change in changes:
        entry = states.setdefault(change.entry_id, {SUPPORTS: []})
        gone = set(change.before.get(SUPPORTS, ()))
        kept = [memory for memory in entry[SUPPORTS] if memory not in gone]
        entry.update(change.after)
        entry[SUPPORTS] = kept + change.after.get(SUPPORTS, [])
    return states


def present(project: Project) -> States:
    """The same as `state_at`, read from the tables of the present."""
    rows = PlaybookEntry.objects.filter(project=project).light()
    return {
        entry.pk: state(entry) | {SUPPORTS: entry.supporting_memory_ids}
        for entry in rows.prefetch_related("supports")
    }

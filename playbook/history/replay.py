"""Rebuild the playbook as it was at a revision, from the change rows alone."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from playbook.history.revision import (
    LATER_COLUMNS,
    SUPPORTS,
    EntryValues,
    entry_values,
)
from playbook.models import PlaybookChange, PlaybookEntry
from playbook.queries import PlaybookChangeQuerySet
from projects.models import Project

Snapshot = dict[uuid.UUID, EntryValues]
# The columns of a change that replay reads: the entry, the memories that no longer
# support the entry, and `after`.
ChangeRow = tuple[uuid.UUID, list[str] | None, EntryValues]


def snapshot_at(project: Project, revision: int | None = None) -> Snapshot:
    """Return the entries as they were at a revision.

    Without a revision, return the entries as they were at the newest one.
    """
    rows = PlaybookChange.objects.filter(project_id=project.pk).in_order()
    if revision is not None:
        rows = rows.filter(revision__lte=revision)
    return fold(_change_rows(rows))


def snapshots_around(
    project: Project, first: int, last: int
) -> tuple[Snapshot, Snapshot]:
    """Return the entries that changed between two revisions, as they were at both revisions."""
    rows = PlaybookChange.objects.filter(project_id=project.pk, revision__lte=last)
    changed = rows.filter(revision__gt=first)
    theirs = rows.filter(entry_id__in=changed.values("entry_id")).in_order()
    before = fold(_change_rows(theirs.filter(revision__lte=first)))
    same = {entry_id: {**state} for entry_id, state in before.items()}
    return before, fold(_change_rows(theirs.filter(revision__gt=first)), same)


def _change_rows(rows: PlaybookChangeQuerySet) -> Iterable[ChangeRow]:
    """Read the change rows as plain values.

    Creating a model instance for each row would take most of the time.
    """
    return rows.values_list(
        "entry_id", f"before__{SUPPORTS}", "after", named=False
    ).iterator(chunk_size=5000)


def fold(changes: Iterable[ChangeRow], start: Snapshot | None = None) -> Snapshot:
    """Apply changes, oldest first, to `start`, or to an empty playbook without `start`."""
    states: Snapshot = {} if start is None else start
    for entry_id, removed_ids, after in changes:
        entry = states.get(entry_id)
        if entry is None:
            entry = states[entry_id] = {SUPPORTS: [], **LATER_COLUMNS}
        if removed_ids is not None:
            remaining = [
                memory for memory in entry[SUPPORTS] if memory not in removed_ids
            ]
            after = after | {SUPPORTS: remaining + after[SUPPORTS]}
        entry.update(after)
    return states


def current_snapshot(project: Project) -> Snapshot:
    """Return the entries as they are now, read from the tables."""
    rows = PlaybookEntry.objects.filter(project=project).light()
    return {
        entry.pk: entry_values(entry) | {SUPPORTS: entry.supporting_memory_ids}
        for entry in rows.prefetch_related("supports")
    }

"""Undo many changes with few queries: each by its inverse, newest first.

A column goes back if it still has the value that the change gave it; counters and supports
change by the difference, so that later votes stay. Each undone change gets a row of its own
that reverts it, and which can be undone like any other.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import CharField, F
from django.db.models.functions import Cast
from django.utils.dateparse import parse_datetime

from common import errors
from memories.models import Memory
from playbook.entries import entry_index, entry_vectors, file_anchors
from playbook.history.live_guard import RuleText
from playbook.history.revision import (
    COUNTERS,
    SUPPORTS,
    TEXTS,
    DuplicateEntry,
    EntryValues,
    Revision,
    entry_values,
    refuse_purged,
)
from playbook.models import EntryVector, PlaybookChange, PlaybookEntry, Support

DATE_COLUMNS = {"verified_at", "review_after"}
# Columns that every change sets, and columns that change by the difference.
VERSION_COLUMNS = {"version", "updated_at"}
ADDITIVE_COLUMNS = {*COUNTERS, SUPPORTS}
MAX_LISTED = 100  # later changes that a refusal lists
Status = PlaybookEntry.EntryStatus
Operation = PlaybookChange.ChangeOperation
# Columns that decide whether an entry occupies its text.
UNIQUENESS_COLUMNS = {"content", "status"}
BATCH = 500  # rows in one statement


class Overlap(errors.StateConflict):
    """A later change touched the same columns; undo that one first."""

    code = "overlap"


def stable_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns that go back only if no later change touched them."""
    return [name for name in columns if name not in VERSION_COLUMNS | ADDITIVE_COLUMNS]


def find_in_force(rows: Iterable[PlaybookChange]) -> set[uuid.UUID]:
    """Return the ids of the rows that no row in force reverts.

    The rows must be in order, and include every later row that reverts one of them.
    """
    found: set[uuid.UUID] = set()
    undone: set[uuid.UUID | None] = set()
    for row in reversed(list(rows)):
        if row.pk not in undone:
            found.add(row.pk)
            undone.add(row.reverts_id)
    return found


@dataclass(frozen=True)
class UndoResult:
    """The changed entries by label, and notes that say what could not be restored."""

    entries: list[PlaybookEntry]
    notes: list[str]


def undo(revision: Revision, changes: Iterable[PlaybookChange]) -> UndoResult:
    """Undo these changes of entries, newest first.

    Overlap, DuplicateEntry and OverBudget are raised before anything is written.
    """
    newest_first = sorted(
        changes, key=lambda change: (change.revision, change.position), reverse=True
    )
    entry_undo = _EntryUndo.of(newest_first)
    for change in newest_first:
        entry_undo.undo_change(revision, change)
    entry_undo.refuse_overlap()
    entry_undo.save(revision)
    entries = sorted(entry_undo.entries.values(), key=lambda entry: entry.label)
    return UndoResult(entries, entry_undo.notes)


@dataclass
class _EntryUndo:
    """Entries during the undo, and the entries' values in the form of change rows."""

    entries: dict[uuid.UUID, PlaybookEntry]
    states: dict[uuid.UUID, EntryValues]
    supports: _SupportUndo
    changed_columns: dict[uuid.UUID, set[str]] = field(default_factory=dict)
    # The columns of changes that have another value by now.
    overlaps: list[tuple[PlaybookChange, list[str]]] = field(default_factory=list)

    @classmethod
    def of(cls, changes: Sequence[PlaybookChange]) -> _EntryUndo:
        # `light()` is not used, because writing a row back needs all columns of the row.
        rows = PlaybookEntry.objects.defer("content_terms")
        entries = rows.in_bulk({change.entry_id for change in changes})
        states = {pk: entry_values(entry) for pk, entry in entries.items()}
        return cls(entries, states, _SupportUndo.of(changes))

    @property
    def notes(self) -> list[str]:
        count = len(self.supports.missing_memories)
        return (
            [f"{count} memories are gone and support nothing again."] if count else []
        )

    def undo_change(self, revision: Revision, change: PlaybookChange) -> None:
        now = self.states[change.entry_id]
        moved = [n for n in stable_columns(change.after) if now[n] != change.after[n]]
        if moved:
            self.overlaps.append((change, moved))
        new_values = _values_before(change, now)
        if stable_columns(new_values) and "version" not in self.changed_columns.get(
            change.entry_id, ()
        ):
            new_values["version"] = now["version"] + 1
            new_values["updated_at"] = revision.now.isoformat()
        before = {name: now[name] for name in new_values}
        was_live = now["status"] == Status.ACTIVE
        now.update(new_values)
        if new_values:
            self.changed_columns.setdefault(change.entry_id, set()).update(new_values)
        is_live = now["status"] == Status.ACTIVE
        added_ids, removed_ids = self.supports.undo_change(change)
        if SUPPORTS in change.before:
            before[SUPPORTS], new_values[SUPPORTS] = removed_ids, added_ids
        operation = Operation.DELETE if was_live and not is_live else Operation.UPDATE
        revision.revert(change, operation, before, new_values)

    def refuse_overlap(self) -> None:
        if not self.overlaps:
            return
        listed = [_find_later(*each) for each in self.overlaps[:MAX_LISTED]]
        told = "; ".join(
            f"{each['entry_label']} ({', '.join(each['columns'])}; {each['action']} at "
            f"revision {each['revision']} by {each['actor']})"
            for each in listed
        )
        more = len(self.overlaps) - len(listed)
        raise Overlap(
            f"Later changes affect {told}{f' and {more} more' if more else ''}. Undo those "
            "changes first.",
            overlaps=listed,
        )

    def save(self, revision: Revision) -> None:
        cost = {pk: entry.tokens for pk, entry in self.entries.items()}
        texts = {pk: RuleText.of(entry) for pk, entry in self.entries.items()}
        for pk, names in self.changed_columns.items():
            for name in names:
                value = _from_json(name, self.states[pk][name])
                setattr(self.entries[pk], name, value)
        more = sum(entry.tokens - cost[pk] for pk, entry in self.entries.items())
        if more > 0:
            revision.refuse_over_budget(more)
        self._refuse_unsafe(revision, texts)
        self._free_texts(revision)
        self._write()
        revision.playbook.tokens += more
        reworded_ids = [
            pk
            for pk, entry in self.entries.items()
            if entry.content != texts[pk].columns[0]
        ]
        if reworded_ids:
            file_anchors.refresh(self.entries[pk] for pk in reworded_ids)
            EntryVector.objects.filter(entry__in=reworded_ids).delete()
            entry_vectors.embed_later(revision.playbook.project_id)
        self.supports.save()

    def _refuse_unsafe(
        self, revision: Revision, texts: dict[uuid.UUID, RuleText]
    ) -> None:
        revision.refuse_unsafe(
            {
                entry.label: RuleText.of(entry).new_text(texts[pk])
                for pk, entry in self.entries.items()
            }
        )

    def _free_texts(self, revision: Revision) -> None:
        """Free the hashes of entries that swap their texts.

        Two entries may never have the same hash.
        """
        unique_ids = [
            pk
            for pk, names in self.changed_columns.items()
            if names & UNIQUENESS_COLUMNS
        ]
        texts = [pk for pk, names in self.changed_columns.items() if names & TEXTS]
        for pk in texts:
            entry_index.fill(self.entries[pk], revision.language)
        _refuse_repeated([self.entries[pk] for pk in unique_ids])
        rows = PlaybookEntry.objects.filter(pk__in=unique_ids)
        rows.update(similarity_hash=Cast(F("pk"), CharField()))

    def _write(self) -> None:
        reworded_ids = {
            pk for pk, names in self.changed_columns.items() if names & TEXTS
        }
        self._update(reworded_ids, "content_tsv")
        self._update(self.changed_columns.keys() - reworded_ids)

    def _update(self, pks: Collection[uuid.UUID], *further: str) -> None:
        names = {_field_name(name) for pk in pks for name in self.changed_columns[pk]}
        columns = ["similarity_hash", *further, *sorted(names)]
        rows = [self.entries[pk] for pk in sorted(pks)]
        # Every row exists already, so each insert conflicts and becomes an update.
        # `bulk_update` would build a CASE for each row and column, and take ten times as
        # long.
        PlaybookEntry.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["id"],
            update_fields=columns,
            batch_size=BATCH,
        )


def _find_later(change: PlaybookChange, columns: list[str]) -> EntryValues:
    """Return the newest change of columns that a change has set before."""
    rows = PlaybookChange.objects.filter(
        entry_id=change.entry_id, after__has_any_keys=columns
    )
    later = rows.in_order().last() or change
    return {
        "entry_id": str(later.entry_id),
        "entry_label": later.entry_label,
        "columns": sorted(columns),
        "change_id": str(later.pk),
        "revision": later.revision,
        "action": later.action,
        "actor": later.actor,
        "delta_id": str(later.delta_id) if later.delta_id else None,
    }


def _values_before(change: PlaybookChange, now: EntryValues) -> EntryValues:
    if change.operation == Operation.ADD:
        return {"status": Status.DELETED.value}
    before, after = change.before, change.after
    counters = {n: now[n] + before[n] - after[n] for n in COUNTERS if n in before}
    return {name: before[name] for name in stable_columns(before)} | counters


def _refuse_repeated(entries: Sequence[PlaybookEntry]) -> None:
    live = [entry for entry in entries if entry.is_live]
    for entry in live:
        refuse_purged(entry)
    twins = (
        PlaybookEntry.objects.current()
        .filter(similarity_hash__in=[entry.similarity_hash for entry in live])
        .filter(project_id__in={entry.project_id for entry in live})
        .exclude(pk__in=[entry.pk for entry in entries])
        .values_list("similarity_hash", "label", "pk")
    )
    owners = {text_hash: (label, pk) for text_hash, label, pk in twins}
    for entry in live:
        if entry.similarity_hash in owners:
            label, pk = owners[entry.similarity_hash]
            raise DuplicateEntry(
                f"{label} now has the text that {entry.label} would get back; "
                f"change {label} first.",
                entry_id=str(pk),
            )
        owners[entry.similarity_hash] = (entry.label, entry.pk)


@dataclass
class _SupportUndo:
    """Supports of entries during the undo.

    `alive` are the memories that still exist. `missing_memories` are the memories that
    no longer exist, but would support an entry again.
    """

    rows: dict[tuple[uuid.UUID, str], uuid.UUID]
    alive: set[str]
    removed: set[tuple[uuid.UUID, str]] = field(default_factory=set)
    added: dict[tuple[uuid.UUID, str], None] = field(default_factory=dict)
    missing_memories: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, changes: Sequence[PlaybookChange]) -> _SupportUndo:
        support_changes = [c for c in changes if SUPPORTS in c.before]
        memory_ids = {
            pk
            for c in support_changes
            for pk in (*c.before[SUPPORTS], *c.after[SUPPORTS])
        }
        rows = Support.objects.filter(
            entry__in={c.entry_id for c in support_changes}, memory__in=memory_ids
        ).values_list("entry_id", "memory_id", "pk")
        alive = Memory.objects.filter(pk__in=memory_ids).values_list("pk", flat=True)
        return cls({(e, str(m)): pk for e, m, pk in rows}, {str(pk) for pk in alive})

    def undo_change(self, change: PlaybookChange) -> tuple[list[str], list[str]]:
        """Undo a change of supports.

        Return the ids of the memories that were added, and of those that were removed.
        """
        entry_id = change.entry_id
        removed_ids = [
            pk for pk in change.after.get(SUPPORTS, ()) if self._has(entry_id, pk)
        ]
        for pk in removed_ids:
            self.added.pop((entry_id, pk), None)
            self.removed.add((entry_id, pk))
        missing = [
            pk for pk in change.before.get(SUPPORTS, ()) if not self._has(entry_id, pk)
        ]
        self.missing_memories.update(set(missing) - self.alive)
        added_ids = [pk for pk in missing if pk in self.alive]
        self.added.update(dict.fromkeys((entry_id, pk) for pk in added_ids))
        return added_ids, removed_ids

    def _has(self, entry_id: uuid.UUID, memory_id: str) -> bool:
        pair = (entry_id, memory_id)
        return pair in self.added or (pair in self.rows and pair not in self.removed)

    def save(self) -> None:
        removed_pks = [pk for pair, pk in self.rows.items() if pair in self.removed]
        Support.objects.filter(pk__in=removed_pks).delete()
        Support.objects.bulk_create(
            Support(entry_id=entry_id, memory_id=uuid.UUID(memory_id))
            for entry_id, memory_id in self.added
        )


def _field_name(name: str) -> str:
    return "superseded_by" if name == "superseded_by_id" else name


def _from_json(name: str, stored: Any) -> Any:
    """Convert a column's JSON value to its Python value."""
    if name in {*DATE_COLUMNS, "updated_at"}:
        return parse_datetime(stored) if stored else None
    if name == "superseded_by_id":
        return uuid.UUID(stored) if stored else None
    return [uuid.UUID(pk) for pk in stored] if name == "merged_from" else stored

"""Carry out a revert: the inverse of many changes, in few queries.

Each change gets a row of its own that reverts it, newest first, so that the revert can
be reverted change by change.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import CharField, F
from django.db.models.functions import Cast
from django.utils.dateparse import parse_datetime

from memories.models import Memory
from playbook.entries import entry_index, entry_vectors, file_anchors
from playbook.history.change_chains import stable_columns
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
Status = PlaybookEntry.EntryStatus
Operation = PlaybookChange.ChangeOperation
# Columns by which an entry takes the place of a text, or leaves it.
UNIQUENESS_COLUMNS = {"content", "status"}
BATCH = 500  # rows in one statement


@dataclass(frozen=True)
class UndoResult:
    """The entries as they are now, by label, and what could not come back."""

    entries: list[PlaybookEntry]
    notes: list[str]


def undo(revision: Revision, changes: Iterable[PlaybookChange]) -> UndoResult:
    """Move entries to before these changes, newest first.

    Raises DuplicateEntry and OverBudget before it has written anything.
    """
    newest_first = sorted(
        changes, key=lambda change: (change.revision, change.position), reverse=True
    )
    unwound = _EntryUndo.of(newest_first)
    for change in newest_first:
        unwound.take_back(revision, change)
    unwound.save(revision)
    entries = sorted(unwound.entries.values(), key=lambda entry: entry.label)
    return UndoResult(entries, unwound.notes)


@dataclass
class _EntryUndo:
    """Entries on their way back, with their states as change rows hold them."""

    entries: dict[uuid.UUID, PlaybookEntry]
    states: dict[uuid.UUID, EntryValues]
    supports: _SupportUndo
    touched: dict[uuid.UUID, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, changes: Sequence[PlaybookChange]) -> _EntryUndo:
        # Not `light()`: a row that is written back needs all of its columns.
        rows = PlaybookEntry.objects.defer("content_terms")
        entries = rows.in_bulk({change.entry_id for change in changes})
        states = {pk: entry_values(entry) for pk, entry in entries.items()}
        return cls(entries, states, _SupportUndo.of(changes))

    @property
    def notes(self) -> list[str]:
        gone = len(self.supports.gone)
        return [f"{gone} memories are gone and support nothing again."] if gone else []

    def take_back(self, revision: Revision, change: PlaybookChange) -> None:
        now = self.states[change.entry_id]
        wanted = _values_before(change, now)
        if stable_columns(wanted) and "version" not in self.touched.get(
            change.entry_id, ()
        ):
            wanted["version"] = now["version"] + 1
            wanted["updated_at"] = revision.now.isoformat()
        before = {name: now[name] for name in wanted}
        was_live = now["status"] == Status.ACTIVE
        now.update(wanted)
        if wanted:
            self.touched.setdefault(change.entry_id, set()).update(wanted)
        is_live = now["status"] == Status.ACTIVE
        came, went = self.supports.take_back(change)
        if SUPPORTS in change.before:
            before[SUPPORTS], wanted[SUPPORTS] = went, came
        operation = Operation.DELETE if was_live and not is_live else Operation.UPDATE
        revision.revert(change, operation, before, wanted)

    def save(self, revision: Revision) -> None:
        cost = {pk: entry.tokens for pk, entry in self.entries.items()}
        texts = {pk: entry.content for pk, entry in self.entries.items()}
        for pk, names in self.touched.items():
            for name in names:
                value = _from_json(name, self.states[pk][name])
                setattr(self.entries[pk], name, value)
        more = sum(entry.tokens - cost[pk] for pk, entry in self.entries.items())
        if more > 0:
            revision.refuse_over_budget(more)
        self._place(revision)
        self._write()
        revision.playbook.tokens += more
        reworded = [pk for pk, e in self.entries.items() if e.content != texts[pk]]
        if reworded:
            file_anchors.refresh(self.entries[pk] for pk in reworded)
            EntryVector.objects.filter(entry__in=reworded).delete()
            entry_vectors.embed_later(revision.playbook.project_id)
        self.supports.save()

    def _place(self, revision: Revision) -> None:
        """Make room for texts that change places: no two may be alike at any moment."""
        moved = [pk for pk, names in self.touched.items() if names & UNIQUENESS_COLUMNS]
        texts = [pk for pk, names in self.touched.items() if names & TEXTS]
        for pk in texts:
            entry_index.fill(self.entries[pk], revision.language)
        _refuse_repeated([self.entries[pk] for pk in moved])
        rows = PlaybookEntry.objects.filter(pk__in=moved)
        rows.update(similarity_hash=Cast(F("pk"), CharField()))

    def _write(self) -> None:
        reworded = {pk for pk, names in self.touched.items() if names & TEXTS}
        self._update(reworded, "content_tsv")
        self._update(self.touched.keys() - reworded)

    def _update(self, pks: Collection[uuid.UUID], *further: str) -> None:
        names = {_field_name(name) for pk in pks for name in self.touched[pk]}
        columns = ["similarity_hash", *further, *sorted(names)]
        rows = [self.entries[pk] for pk in sorted(pks)]
        # All of them are there: every row conflicts, and is updated by the new one.
        # `bulk_update` builds a CASE for each row and column, ten times as slow.
        PlaybookEntry.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["id"],
            update_fields=columns,
            batch_size=BATCH,
        )


def _values_before(change: PlaybookChange, now: EntryValues) -> EntryValues:
    if change.operation == Operation.ADD:
        return {"status": Status.DELETED.value}
    before, after = change.before, change.after
    counted = {n: now[n] + before[n] - after[n] for n in COUNTERS if n in before}
    return {name: before[name] for name in stable_columns(before)} | counted


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
    taken = {hashed: (label, pk) for hashed, label, pk in twins}
    for entry in live:
        if entry.similarity_hash in taken:
            label, pk = taken[entry.similarity_hash]
            raise DuplicateEntry(
                f"{label} says by now what {entry.label} would say again; "
                "change that entry first.",
                entry_id=str(pk),
            )
        taken[entry.similarity_hash] = (entry.label, entry.pk)


@dataclass
class _SupportUndo:
    """Which memories speak for which entry, while changes are taken back.

    `alive` are the memories there are still, `gone` those that would have come back.
    """

    rows: dict[tuple[uuid.UUID, str], uuid.UUID]
    alive: set[str]
    lost: set[tuple[uuid.UUID, str]] = field(default_factory=set)
    gained: dict[tuple[uuid.UUID, str], None] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, changes: Sequence[PlaybookChange]) -> _SupportUndo:
        moved = [c for c in changes if SUPPORTS in c.before]
        named = {pk for c in moved for pk in (*c.before[SUPPORTS], *c.after[SUPPORTS])}
        rows = Support.objects.filter(
            entry__in={c.entry_id for c in moved}, memory__in=named
        ).values_list("entry_id", "memory_id", "pk")
        alive = Memory.objects.filter(pk__in=named).values_list("pk", flat=True)
        return cls({(e, str(m)): pk for e, m, pk in rows}, {str(pk) for pk in alive})

    def take_back(self, change: PlaybookChange) -> tuple[list[str], list[str]]:
        """The memories that speak for the entry again, and those that do no longer."""
        entry_id = change.entry_id
        went = [pk for pk in change.after.get(SUPPORTS, ()) if self._has(entry_id, pk)]
        for pk in went:
            self.gained.pop((entry_id, pk), None)
            self.lost.add((entry_id, pk))
        missing = [
            pk for pk in change.before.get(SUPPORTS, ()) if not self._has(entry_id, pk)
        ]
        self.gone.update(set(missing) - self.alive)
        came = [pk for pk in missing if pk in self.alive]
        self.gained.update(dict.fromkeys((entry_id, pk) for pk in came))
        return came, went

    def _has(self, entry_id: uuid.UUID, memory_id: str) -> bool:
        pair = (entry_id, memory_id)
        return pair in self.gained or (pair in self.rows and pair not in self.lost)

    def save(self) -> None:
        ended = [pk for pair, pk in self.rows.items() if pair in self.lost]
        Support.objects.filter(pk__in=ended).delete()
        Support.objects.bulk_create(
            Support(entry_id=entry_id, memory_id=uuid.UUID(memory_id))
            for entry_id, memory_id in self.gained
        )


def _field_name(name: str) -> str:
    return "superseded_by" if name == "superseded_by_id" else name


def _from_json(name: str, stored: Any) -> Any:
    """A column's Python value from its JSON-friendly one."""
    if name in {*DATE_COLUMNS, "updated_at"}:
        return parse_datetime(stored) if stored else None
    if name == "superseded_by_id":
        return uuid.UUID(stored) if stored else None
    return [uuid.UUID(pk) for pk in stored] if name == "merged_from" else stored

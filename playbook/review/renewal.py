"""Renew a waiting delta whose entry has changed, so that a person decides about it as it is now."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q

from common.caller import Caller
from common.db import write
from inference.embedding.vector import Vector
from playbook import delta_vectors
from playbook.history import operations
from playbook.history.revision import COUNTERS, SUPPORTS
from playbook.lessons import gates, intake, policy
from playbook.lessons.draft import Draft, Operation
from playbook.lessons.gates import GateResult
from playbook.models import Playbook, PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.review import available, delta_review

Status = PlaybookDelta.DeltaStatus
EntryVersion = tuple[uuid.UUID, int]  # id of an entry, and the version that was read
ColumnChanges = dict[str, tuple[Any, Any]]
# Columns that every change sets, and columns that change only when an entry is used.
IGNORED_COLUMNS = {"version", "updated_at", SUPPORTS, *COUNTERS}
ENTRY_CHANGED = "The entry has changed since this proposal."
# Operations that may apply to entries that are not active.
INACTIVE_OPERATIONS = (Operation.RESTORE, Operation.DELETE)


@dataclass(frozen=True)
class EntryDrift:
    """The columns of an entry that changed since a delta read the entry.

    Each column is a pair (before, after).
    """

    entry: PlaybookEntry
    columns: Mapping[str, tuple[Any, Any]]


@write
def renew_stale(delta: PlaybookDelta, caller: Caller) -> None:
    """Renew a delta after a decision that was refused because its entry has changed.

    The text of the delta stays. The gates run again; what was beside its quotes stays
    known. If an entry is no longer active, the delta is marked stale.
    """
    playbook, delta = delta_review.lock_row(delta)
    if delta.status not in available.WAITING:
        return
    try:
        renew(playbook, delta, caller, delta_vectors.find(delta))
        note = f"{ENTRY_CHANGED} {delta.review_note}".strip()
    except operations.EntryState as refusal:
        delta.refresh_from_db()
        delta.status, note = Status.STALE, refusal.detail
        delta.version += 1
    delta.review_note = note[:1000]
    delta.save()
    delta_review.audit(delta, caller, "renew")


def renew(
    playbook: Playbook, delta: PlaybookDelta, caller: Caller, vector: Vector | None
) -> None:
    """Renew a locked delta for the current versions of its entries."""
    _move_versions(delta)
    draft = Draft(delta, vector=vector)
    draft = replace(draft, match=intake.find_match(draft))
    results = _gates(delta, gates.evaluate(playbook, draft, key_id=delta.key_id))
    delta.gates = [asdict(gate) for gate in results]
    decision = policy.decide(delta.project, draft, results, caller)
    # It waits for a person in any case, as its quotes are not compared again.
    delta.status, delta.risk = Status.PENDING, decision.risk
    delta.review_note = decision.reason[:1000]
    delta.version += 1
    delta.save()


def _gates(delta: PlaybookDelta, results: Sequence[GateResult]) -> list[GateResult]:
    """Keep the verdict of `unsafe`, which has read the texts around the quotes."""
    before = {gate["name"]: GateResult(**gate) for gate in delta.gates}
    unsafe = before.get("unsafe")
    if unsafe is None or unsafe.verdict == "pass":
        return list(results)
    return [unsafe if each.name == unsafe.name else each for each in results]


def _move_versions(delta: PlaybookDelta) -> None:
    """Set the current versions of the entries."""
    if delta.entry_id:
        delta.entry = _load_entry(delta, delta.entry_id)
        delta.expected_version = delta.entry.version
    for target in delta.targets:
        other = _load_entry(delta, uuid.UUID(str(target["id"])))
        target["version"] = other.version


def find_drift(deltas: Iterable[PlaybookDelta]) -> dict[uuid.UUID, list[EntryDrift]]:
    """Map the id of each open delta to what changed in its entries.

    Only changes since the delta read its entries count. The function runs two queries
    for all deltas.
    """
    versions_by_delta = {delta.pk: _versions_read(delta) for delta in deltas}
    entries = PlaybookEntry.objects.light().in_bulk(
        {pk for versions in versions_by_delta.values() for pk in versions}
    )
    behind = {
        (pk, version)
        for versions in versions_by_delta.values()
        for pk, version in versions.items()
        if pk in entries and version is not None and version != entries[pk].version
    }
    changes = _changes_since(behind)
    drifts = {
        delta_id: [
            EntryDrift(entries[pk], changes[pk, version])
            for pk, version in versions.items()
            if version is not None and changes.get((pk, version))
        ]
        for delta_id, versions in versions_by_delta.items()
    }
    return {delta_id: each for delta_id, each in drifts.items() if each}


def _versions_read(delta: PlaybookDelta) -> dict[uuid.UUID, int | None]:
    others = {uuid.UUID(str(t["id"])): t.get("version") for t in delta.targets}
    own = {delta.entry_id: delta.expected_version} if delta.entry_id else {}
    return {**others, **own}


def _changes_since(
    behind: Collection[tuple[uuid.UUID, int]],
) -> dict[EntryVersion, ColumnChanges]:
    conditions = [Q(entry_id=pk, after__version__gt=version) for pk, version in behind]
    if not conditions:
        return {}
    rows = PlaybookChange.objects.filter(reduce(or_, conditions)).in_order()
    later = list(rows.only("entry_id", "before", "after"))
    return {
        (pk, version): _difference(
            change
            for change in later
            if change.entry_id == pk and change.after["version"] > version
        )
        for pk, version in behind
    }


def _load_entry(delta: PlaybookDelta, entry_id: uuid.UUID) -> PlaybookEntry:
    entry: PlaybookEntry = PlaybookEntry.objects.light().get(pk=entry_id)
    if not entry.is_live and delta.operation not in INACTIVE_OPERATIONS:
        raise operations.EntryState(
            f"{entry.label} is {entry.status}; restore it first, or reject this proposal."
        )
    return entry


def _difference(changes: Iterable[PlaybookChange]) -> ColumnChanges:
    columns: dict[str, tuple[Any, Any]] = {}
    for change in changes:
        for name in change.after.keys() - IGNORED_COLUMNS:
            first = columns.get(name, (change.before[name], None))[0]
            columns[name] = (first, change.after[name])
    return {n: pair for n, pair in columns.items() if pair[0] != pair[1]}

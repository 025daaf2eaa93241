"""A waiting or stale delta renewed against the entries as they are now."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q

from common.caller import Caller, Role
from common.db import write
from inference.embedding.vector import Vector
from playbook.conflicts import conflict_lifecycle
from playbook.history import operations
from playbook.history.revision import COUNTERS, SUPPORTS
from playbook.models import Playbook, PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.proposals import gates, policy, submission
from playbook.proposals.proposed_change import Operation, PreparedProposal
from playbook.review import delta_review
from playbook.review.delta_review import EmbeddedText
from playbook.rule_text.text_gates import GateResult

Status = PlaybookDelta.DeltaStatus
EntryVersion = tuple[uuid.UUID, int]  # an entry and the version of it that was read
ColumnChanges = dict[str, tuple[Any, Any]]
# Columns that every change moves, or that use alone moves.
IGNORED_COLUMNS = {"version", "updated_at", SUPPORTS, *COUNTERS}
# Gates that look at the run, of the quotes and of what stands around them.
RUN_GATES = ("verbatim", "instruction")
# What may be done to an entry that is not active.
INACTIVE_OPERATIONS = (Operation.RESTORE, Operation.DELETE)


@dataclass(frozen=True)
class EntryDrift:
    """What changed in an entry since a delta read it: {column: (before, after)}."""

    entry: PlaybookEntry
    columns: Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True)
class RebaseResult:
    """The renewed delta, and every entry of it that had changed."""

    delta: PlaybookDelta
    moved: list[EntryDrift]


def rebase_delta(
    delta: PlaybookDelta,
    caller: Caller,
    *,
    version: int | None = None,
    embedded_text: EmbeddedText | None = None,
) -> RebaseResult:
    """Let a delta wait again, for the present versions of its entries.

    The text stays; the gates are run again, but for the comparison of its quotes with
    the run, which was made when it was proposed. Raises EntryState when an entry is
    not active any more, and DeltaState for a delta that is decided.
    """
    caller.require(Role.CURATOR, delta.project_id)
    embedded_text = embedded_text or delta_review.embed_text(delta, delta.content)
    return _rebase_locked(delta, caller, version, embedded_text.vector)


@write
def _rebase_locked(
    delta: PlaybookDelta, caller: Caller, version: int | None, vector: Vector | None
) -> RebaseResult:
    playbook, delta = delta_review.lock_delta(delta, version, also=(Status.STALE,))
    moved = renew(playbook, delta, caller, vector)
    delta_review.audit(delta, caller, "rebase")
    return RebaseResult(delta, moved)


def renew(
    playbook: Playbook, delta: PlaybookDelta, caller: Caller, vector: Vector | None
) -> list[EntryDrift]:
    """Let a held delta wait for its entries as they are now; what changed in them."""
    moved = _move_versions(delta)
    item = submission.reevaluate(delta, vector)
    found = _gates(delta, gates.evaluate(playbook, item, key_id=delta.key_id))
    delta.gates = [asdict(gate) for gate in found]
    _set_risk(delta, item, found, caller)
    delta.version += 1
    delta.save()
    conflict_lifecycle.open_conflict(delta, item.match)
    return moved


def _gates(delta: PlaybookDelta, found: Sequence[GateResult]) -> list[GateResult]:
    """What compared its quotes with the run stays: the texts of the run are not kept."""
    kept = [GateResult(**gate) for gate in delta.gates if gate["name"] in RUN_GATES]
    again = [gate for gate in found if gate.name != "verbatim"]
    return list(dict.fromkeys([*kept, *again]))


def _set_risk(
    delta: PlaybookDelta,
    item: PreparedProposal,
    found: Sequence[GateResult],
    caller: Caller,
) -> None:
    """It waits for a person whatever the gates say; they say how risky it is."""
    decision = policy.decide(delta.project, item.proposal, found, caller)
    delta.status, delta.risk = Status.PENDING, decision.risk
    delta.review_note = decision.reason[:1000]


def _move_versions(delta: PlaybookDelta) -> list[EntryDrift]:
    """Take over the present versions; what changed since the ones that were read."""
    found = []
    if delta.entry_id:
        entry = _load_entry(delta, delta.entry_id)
        found.append(_drift_since(entry, delta.expected_version))
        delta.entry, delta.expected_version = entry, entry.version
    for target in delta.targets:
        other = _load_entry(delta, uuid.UUID(str(target["id"])))
        found.append(_drift_since(other, target.get("version")))
        target["version"] = other.version
    return [moved for moved in found if moved.columns]


def find_drift(deltas: Iterable[PlaybookDelta]) -> dict[uuid.UUID, list[EntryDrift]]:
    """What changed in the entries of undecided deltas since they were read.

    By the delta's id; two queries for all of them.
    """
    read = {delta.pk: _versions_read(delta) for delta in deltas}
    entries = PlaybookEntry.objects.light().in_bulk(
        {pk for versions in read.values() for pk in versions}
    )
    behind = {
        (pk, version)
        for versions in read.values()
        for pk, version in versions.items()
        if pk in entries and version is not None and version != entries[pk].version
    }
    found = _changed_since(behind)
    told = {
        delta_id: [
            EntryDrift(entries[pk], found[pk, version])
            for pk, version in versions.items()
            if version is not None and found.get((pk, version))
        ]
        for delta_id, versions in read.items()
    }
    return {delta_id: each for delta_id, each in told.items() if each}


def _versions_read(delta: PlaybookDelta) -> dict[uuid.UUID, int | None]:
    others = {uuid.UUID(str(t["id"])): t.get("version") for t in delta.targets}
    own = {delta.entry_id: delta.expected_version} if delta.entry_id else {}
    return {**others, **own}


def _changed_since(
    behind: Collection[tuple[uuid.UUID, int]],
) -> dict[EntryVersion, ColumnChanges]:
    wanted = [Q(entry_id=pk, after__version__gt=version) for pk, version in behind]
    if not wanted:
        return {}
    rows = PlaybookChange.objects.filter(reduce(or_, wanted)).in_order()
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
            f"{entry.label} is {entry.status}; restore it first, or reject this."
        )
    return entry


def _drift_since(entry: PlaybookEntry, version: int | None) -> EntryDrift:
    """Without a version nothing is known to have been read."""
    if version is None or version == entry.version:
        return EntryDrift(entry, {})
    later = PlaybookChange.objects.filter(
        entry_id=entry.pk, after__version__gt=version
    ).in_order()
    return EntryDrift(entry, _difference(later.only("before", "after")))


def _difference(changes: Iterable[PlaybookChange]) -> ColumnChanges:
    columns: dict[str, tuple[Any, Any]] = {}
    for change in changes:
        for name in change.after.keys() - IGNORED_COLUMNS:
            first = columns.get(name, (change.before[name], None))[0]
            columns[name] = (first, change.after[name])
    return {n: pair for n, pair in columns.items() if pair[0] != pair[1]}

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
from playbook import checking, deciding, disputes, operations, proposals, reviewing
from playbook.drafts import Item, Operation
from playbook.gates import Gate
from playbook.models import Playbook, PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.reviewing import Made
from playbook.revisions import COUNTERS, SUPPORTS

Status = PlaybookDelta.Status
Read = tuple[uuid.UUID, int]  # an entry and the version of it that was read
Columns = dict[str, tuple[Any, Any]]
# Columns that every change moves, or that use alone moves.
PASSED_OVER = {"version", "updated_at", SUPPORTS, *COUNTERS}
# Gates that look at the run, of the quotes and of what stands around them.
OF_THE_RUN = ("verbatim", "instruction")
# What may be done to an entry that is not active.
OF_RETIRED = (Operation.RESTORE, Operation.DELETE)


@dataclass(frozen=True)
class Moved:
    """What changed in an entry since a delta read it: {column: (before, after)}."""

    entry: PlaybookEntry
    columns: Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True)
class Rebased:
    """The renewed delta, and every entry of it that had changed."""

    delta: PlaybookDelta
    moved: list[Moved]


def rebase(
    delta: PlaybookDelta,
    caller: Caller,
    *,
    version: int | None = None,
    made: Made | None = None,
) -> Rebased:
    """Let a delta wait again, for the present versions of its entries.

    The text stays; the gates are run again, but for the comparison of its quotes with
    the run, which was made when it was proposed. Raises EntryState when an entry is
    not active any more, and DeltaState for a delta that is decided.
    """
    caller.require(Role.CURATOR, delta.project_id)
    made = made or reviewing.embedded(delta, delta.content)
    return _rebase(delta, caller, version, made.vector)


@write
def _rebase(
    delta: PlaybookDelta, caller: Caller, version: int | None, vector: Vector | None
) -> Rebased:
    playbook, delta = reviewing.hold_delta(delta, version, also=(Status.STALE,))
    moved = renew(playbook, delta, caller, vector)
    reviewing.audit(delta, caller, "rebase")
    return Rebased(delta, moved)


def renew(
    playbook: Playbook, delta: PlaybookDelta, caller: Caller, vector: Vector | None
) -> list[Moved]:
    """Let a held delta wait for its entries as they are now; what changed in them."""
    moved = _move_versions(delta)
    item = proposals.again(delta, vector)
    found = _gates(delta, checking.check(playbook, item, key_id=delta.key_id))
    delta.gates = [asdict(gate) for gate in found]
    _judge(delta, item, found, caller)
    delta.version += 1
    delta.save()
    disputes.file(delta, item.match)
    return moved


def _gates(delta: PlaybookDelta, found: Sequence[Gate]) -> list[Gate]:
    """What compared its quotes with the run stays: the texts of the run are not kept."""
    kept = [Gate(**gate) for gate in delta.gates if gate["name"] in OF_THE_RUN]
    again = [gate for gate in found if gate.name != "verbatim"]
    return list(dict.fromkeys([*kept, *again]))


def _judge(
    delta: PlaybookDelta, item: Item, found: Sequence[Gate], caller: Caller
) -> None:
    """It waits for a person whatever the gates say; they say how risky it is."""
    decision = deciding.decide(delta.project, item.proposal, found, caller)
    delta.status, delta.risk = Status.PENDING, decision.risk
    delta.review_note = decision.reason[:1000]


def _move_versions(delta: PlaybookDelta) -> list[Moved]:
    """Take over the present versions; what changed since the ones that were read."""
    found = []
    if delta.entry_id:
        entry = _present(delta, delta.entry_id)
        found.append(_since(entry, delta.expected_version))
        delta.entry, delta.expected_version = entry, entry.version
    for target in delta.targets:
        other = _present(delta, uuid.UUID(str(target["id"])))
        found.append(_since(other, target.get("version")))
        target["version"] = other.version
    return [moved for moved in found if moved.columns]


def moved(deltas: Iterable[PlaybookDelta]) -> dict[uuid.UUID, list[Moved]]:
    """What changed in the entries of undecided deltas since they were read.

    By the delta's id; two queries for all of them.
    """
    read = {delta.pk: _read(delta) for delta in deltas}
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
            Moved(entries[pk], found[pk, version])
            for pk, version in versions.items()
            if version is not None and found.get((pk, version))
        ]
        for delta_id, versions in read.items()
    }
    return {delta_id: each for delta_id, each in told.items() if each}


def _read(delta: PlaybookDelta) -> dict[uuid.UUID, int | None]:
    others = {uuid.UUID(str(t["id"])): t.get("version") for t in delta.targets}
    own = {delta.entry_id: delta.expected_version} if delta.entry_id else {}
    return {**others, **own}


def _changed_since(behind: Collection[tuple[uuid.UUID, int]]) -> dict[Read, Columns]:
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


def _present(delta: PlaybookDelta, entry_id: uuid.UUID) -> PlaybookEntry:
    entry: PlaybookEntry = PlaybookEntry.objects.light().get(pk=entry_id)
    if not entry.is_live and delta.operation not in OF_RETIRED:
        raise operations.EntryState(
            f"{entry.label} is {entry.status}; restore it first, or reject this."
        )
    return entry


def _since(entry: PlaybookEntry, version: int | None) -> Moved:
    """Without a version nothing is known to have been read."""
    if version is None or version == entry.version:
        return Moved(entry, {})
    later = PlaybookChange.objects.filter(
        entry_id=entry.pk, after__version__gt=version
    ).in_order()
    return Moved(entry, _difference(later.only("before", "after")))


def _difference(changes: Iterable[PlaybookChange]) -> Columns:
    columns: dict[str, tuple[Any, Any]] = {}
    for change in changes:
        for name in change.after.keys() - PASSED_OVER:
            first = columns.get(name, (change.before[name], None))[0]
            columns[name] = (first, change.after[name])
    return {n: pair for n, pair in columns.items() if pair[0] != pair[1]}

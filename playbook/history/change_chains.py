"""Find out which changes are in force, and which later changes depend on them.

A change, the revert of that change, the revert of that revert and so on form a chain.
Each row undoes the row before it. The change is therefore in force if the number of
rows is odd. All rows of a chain change the same columns of one entry.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Min, Q

from playbook.history.revision import COLUMNS, COUNTERS, SUPPORTS, EntryValues
from playbook.models import PlaybookChange
from playbook.queries import USE_CHANGES, PlaybookChangeQuerySet

# Columns that every change sets. They are left out, because they show no overlap.
VERSION_COLUMNS = {"version", "updated_at"}
# Columns that a revert changes only by the difference, so that later changes stay.
ADDITIVE_COLUMNS = {*COUNTERS, SUPPORTS}


def stable_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns that a later change may depend on."""
    return [name for name in columns if name not in VERSION_COLUMNS | ADDITIVE_COLUMNS]


@dataclass(frozen=True)
class Chain:
    rows: list[PlaybookChange] = field(default_factory=list)

    @property
    def root(self) -> PlaybookChange:
        return self.rows[0]

    @property
    def tail(self) -> PlaybookChange:
        return self.rows[-1]

    @property
    def is_in_force(self) -> bool:
        return len(self.rows) % 2 == 1

    @property
    def columns(self) -> list[str]:
        """Return the columns that the change sets.

        An addition sets all columns.
        """
        is_addition = self.root.operation == PlaybookChange.ChangeOperation.ADD
        return stable_columns(COLUMNS if is_addition else self.root.after)

    def rows_after(self, place: Position) -> list[PlaybookChange]:
        return [row for row in self.rows if position_of(row) > place]

    def is_moved_by(self, selected: Collection[uuid.UUID]) -> bool:
        """Whether the selected rows together changed the entry, and no later row undid this."""
        places = [n for n, row in enumerate(self.rows) if row.pk in selected]
        rows_since = len(self.rows) - 1 - places[-1] if places else 0
        return len(places) % 2 == 1 and rows_since % 2 == 0


Position = tuple[int, int]


def position_of(change: PlaybookChange) -> Position:
    return change.revision, change.position


def build_chains(rows: Iterable[PlaybookChange]) -> list[Chain]:
    """Group rows into chains.

    The rows must be in order, and include every row that one of them reverts.
    """
    found: dict[uuid.UUID, Chain] = {}
    for row in rows:
        chain = found[row.reverts_id] if row.reverts_id else Chain()
        chain.rows.append(row)
        found[row.pk] = chain
    return list({id(chain): chain for chain in found.values()}.values())


def chains_around(selected: PlaybookChangeQuerySet) -> list[Chain]:
    """Load the chains of the selected changes, and of later changes that may depend on them.

    Votes and changes of supports never depend on a change.
    """
    first = selected.aggregate(first=Min("revision"))["first"]
    if first is None:
        return []
    rows = PlaybookChange.objects.filter(
        project_id__in=selected.values("project_id"),
        entry_id__in=selected.values("entry_id"),
        revision__gte=first,
    )
    rows = rows.filter(~USE_CHANGES | Q(pk__in=selected.values("pk")))
    found = {row.pk: row for row in rows}
    while older := {row.reverts_id for row in found.values()} - found.keys() - {None}:
        found |= PlaybookChange.objects.in_bulk([pk for pk in older if pk])
    return build_chains(sorted(found.values(), key=position_of))


@dataclass(frozen=True)
class Obstacle:
    """A later change of columns that a revert would change."""

    change: PlaybookChange
    columns: list[str]

    @property
    def details(self) -> EntryValues:
        return {
            "entry_id": str(self.change.entry_id),
            "entry_label": self.change.entry_label,
            "columns": self.columns,
            "change_id": str(self.change.pk),
            "revision": self.change.revision,
            "action": self.change.action,
            "actor": self.change.actor,
            "delta_id": str(self.change.delta_id) if self.change.delta_id else None,
        }


def find_obstacles(
    chains_to_revert: Sequence[Chain], chains: Iterable[Chain]
) -> list[Obstacle]:
    """Find later changes of the same columns that are still in force."""
    since: dict[tuple[uuid.UUID, str], Position] = {}
    for chain in chains_to_revert:
        for name in chain.columns:
            key, place = (chain.tail.entry_id, name), position_of(chain.tail)
            since[key] = min(since.get(key, place), place)
    own = {chain.root.pk for chain in chains_to_revert}
    others = (chain for chain in chains if chain.root.pk not in own)
    found = (_find_obstacle(chain, since) for chain in others)
    return sorted(
        filter(None, found), key=lambda obstacle: position_of(obstacle.change)
    )


def _find_obstacle(
    chain: Chain, since: dict[tuple[uuid.UUID, str], Position]
) -> Obstacle | None:
    columns = []
    for name in chain.columns:
        place = since.get((chain.tail.entry_id, name))
        if place and len(chain.rows_after(place)) % 2 == 1:
            columns.append(name)
    return Obstacle(chain.tail, columns) if columns else None

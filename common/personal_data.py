"""Where a person's text can stand, and how a purge takes it away.

Each app registers its tables here. A purge asks every part what it reaches, has the
rows held and made ready, and then masks them (`common.masks`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from django.db.models import BooleanField, Model, QuerySet
from django.db.models.expressions import RawSQL

from common.caller import Caller
from common.masks import Way, hmac_of, lost

ANY_ID = r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
BATCH = 200  # rows in memory at a time
# A row, and what takes the place of its texts: {column: value}.
Change = tuple[Any, dict[str, Any]]


@dataclass(frozen=True)
class Descendant:
    """What was made of purged texts: purged with them, or left to a person."""

    kind: str
    id: uuid.UUID
    how: str
    is_purged: bool


@dataclass
class Reach:
    """The rows that a purge takes, by kind, and the descendants that it met."""

    project_id: uuid.UUID
    cascade: bool
    ids: dict[str, set[uuid.UUID]] = field(default_factory=dict)
    descendants: dict[uuid.UUID, Descendant] = field(default_factory=dict)

    def of(self, kind: str) -> set[uuid.UUID]:
        return self.ids.get(kind, set())

    def add(self, kind: str, ids: Iterable[uuid.UUID]) -> None:
        self.ids.setdefault(kind, set()).update(ids)

    def descend(
        self, kind: str, ids: Iterable[uuid.UUID], how: str, *, is_purged: bool
    ) -> None:
        for pk in ids:
            found = Descendant(kind, pk, how, is_purged)
            self.descendants.setdefault(pk, found)

    @property
    def all(self) -> list[uuid.UUID]:
        return [pk for ids in self.ids.values() for pk in ids]


Rows = Callable[[Reach], QuerySet[Any]]


@dataclass(frozen=True)
class Holding:
    """Columns of a table, and the rows of it that a purge reaches.

    Without `ways` the row is removed. `derived` columns follow from the others: `renew`
    sets them on a masked row. Without `rows` they are counted anew by their part.
    """

    model: type[Model]
    rows: Rows | None
    ways: Mapping[str, Way] = field(default_factory=dict)
    derived: Sequence[str] = ()
    renew: Callable[[Any], None] | None = None
    removed: Sequence[str] = ()

    @property
    def table(self) -> str:
        return self.model._meta.db_table

    @property
    def columns(self) -> set[str]:
        return {*self.ways, *self.derived, *self.removed}


@dataclass(frozen=True)
class Trace:
    """The HMAC of a text, and where it stood."""

    hmac: str
    table: str
    column: str
    row_id: str


class Part:
    """What an app adds to a purge. The apps above come first in every step."""

    holdings: Sequence[Holding] = ()
    # Why a column that could hold a text holds none of a person's: {model: {column: why}}.
    no_text: Mapping[type[Model], Mapping[str, str]] = {}

    def reach(self, reach: Reach) -> None:
        """Add what follows from what is reached; asked until nothing is new."""

    def hold(self, reach: Reach) -> None:
        """Lock what is reached, or refuse; in the order of docs/tables.md."""

    def before(self, reach: Reach, purge_id: uuid.UUID, caller: Caller) -> None:
        """Take the rows out of use, while their texts are still known."""

    def after(self, reach: Reach) -> None:
        """Count anew what was counted over the texts."""


PARTS: list[Part] = []


def register(part: type[Part]) -> type[Part]:
    PARTS.append(part())
    return part


def parts() -> Iterator[Part]:
    """The apps above first: they refer to those below."""
    return reversed(PARTS)


def holdings() -> Iterator[Holding]:
    return (holding for part in parts() for holding in part.holdings)


def spread(reach: Reach) -> None:
    """Let every part add what follows, until nothing is new."""
    size = -1
    while size != len(reach.all):
        size = len(reach.all)
        for part in PARTS:
            part.reach(reach)


def count(reach: Reach) -> dict[str, int]:
    """How many rows of which table a purge would change or remove now."""
    found: dict[str, int] = {}
    for holding in holdings():
        if number := sum(1 for _ in _reached(holding, reach)):
            found[holding.table] = found.get(holding.table, 0) + number
    return found


def purge(reach: Reach) -> tuple[dict[str, int], list[Trace]]:
    """Mask or remove what is reached: how many rows of which table, and the HMACs.

    Inside `append_only.unlocked()`, in the one transaction of the purge.
    """
    found: dict[str, int] = {}
    texts: dict[str, Trace] = {}
    for holding in holdings():
        for batch in _batches(_reached(holding, reach)):
            for row, changed in batch:
                for each in _texts(holding, row, changed):
                    texts.setdefault(each.hmac, each)
            _take(holding, batch)
            found[holding.table] = found.get(holding.table, 0) + len(batch)
    return found, list(texts.values())


def _reached(holding: Holding, reach: Reach) -> Iterator[Change]:
    """The rows that are not purged yet, with what takes the place of their texts."""
    if holding.rows is None:
        return
    for row in holding.rows(reach).order_by("pk").iterator(chunk_size=BATCH):
        changed = {}
        for column, way in holding.ways.items():
            old = getattr(row, column)
            if old is not None and (new := way(old)) != old:
                changed[column] = new
        if changed or not holding.ways:
            yield row, changed


def _batches(rows: Iterator[Change]) -> Iterator[list[Change]]:
    while batch := list(islice(rows, BATCH)):
        yield batch


def _texts(holding: Holding, row: Any, changed: Mapping[str, Any]) -> Iterator[Trace]:
    for column in changed or holding.removed:
        for said in filter(None, lost(getattr(row, column), changed.get(column))):
            yield Trace(hmac_of(said), holding.table, column, str(row.pk))


def _changed(holding: Holding, row: Any, changed: Mapping[str, Any]) -> Any:
    for column, value in changed.items():
        setattr(row, column, value)
    if holding.renew:
        holding.renew(row)
    return row


def _take(holding: Holding, batch: Sequence[Change]) -> None:
    if not holding.ways:
        gone = holding.model._base_manager.filter(pk__in=[row.pk for row, _ in batch])
        gone.delete()
        return
    pk = holding.model._meta.pk
    assert pk
    # All of them are there: every row conflicts, and is updated by the new one.
    # `bulk_update` builds a CASE for each row and column, ten times as slow.
    holding.model._base_manager.bulk_create(
        [_changed(holding, row, changed) for row, changed in batch],
        update_conflicts=True,
        unique_fields=[pk.name],
        update_fields={*holding.derived, *(name for _, new in batch for name in new)},
    )


def naming(
    rows: QuerySet[Any], ids: Sequence[uuid.UUID], *columns: str
) -> QuerySet[Any]:
    """The rows whose JSON in these columns names one of the ids anywhere.

    A batch in each statement: 50 kB of JSON take 2 ms, and rows may be a million.
    """
    table = rows.model._meta.db_table
    texts = ", ".join(f'"{table}"."{column}"' for column in columns)
    sql = (
        f"EXISTS (SELECT 1 FROM regexp_matches(concat_ws(' ', {texts}), %s, 'g')"
        " AS found WHERE found[1]::uuid = ANY(%s))"
    )
    named: Any = RawSQL(sql, [ANY_ID, list(ids)], output_field=BooleanField())
    looked = rows.order_by("pk").values_list("pk", named)
    found: list[uuid.UUID] = []
    rest = looked
    while batch := list(rest[:BATCH]):
        found += [pk for pk, is_named in batch if is_named]
        rest = looked.filter(pk__gt=batch[-1][0])
    return rows.filter(pk__in=found)

"""The rows that one purge erases, and the rows that were made from those rows."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Descendant:
    """A row made from purged texts; the purge erases it too, or a person decides about it."""

    kind: str
    id: uuid.UUID
    how: str
    is_purged: bool


@dataclass
class ErasureScope:
    """The ids of the rows to erase, by kind, and the descendants of these rows.

    `selection` is the selection of the purge, as the request names it.
    """

    project_id: uuid.UUID
    cascade: bool
    selection: Mapping[str, Any] = field(default_factory=dict)
    ids: dict[str, set[uuid.UUID]] = field(default_factory=dict)
    descendants: dict[uuid.UUID, Descendant] = field(default_factory=dict)
    # What a handler found with a slow search, by what it searched for.
    found: dict[Any, Any] = field(default_factory=dict)

    def ids_of(self, kind: str) -> set[uuid.UUID]:
        return self.ids.get(kind, set())

    def add(self, kind: str, ids: Iterable[uuid.UUID]) -> None:
        self.ids.setdefault(kind, set()).update(ids)

    def add_descendants(
        self, kind: str, ids: Iterable[uuid.UUID], how: str, *, is_purged: bool
    ) -> None:
        for pk in ids:
            self.descendants.setdefault(pk, Descendant(kind, pk, how, is_purged))

    @property
    def all_ids(self) -> list[uuid.UUID]:
        return [pk for ids in self.ids.values() for pk in ids]

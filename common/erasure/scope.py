"""TODO docstring."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Descendant:
    """What was made of purged texts: purged with them, or left to a person."""

    kind: str
    id: uuid.UUID
    how: str
    is_purged: bool


@dataclass
class ErasureScope:
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

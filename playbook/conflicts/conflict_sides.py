"""The two sides of a conflict: rules that cannot both hold.

`playbook.conflicts.conflict_lifecycle` opens and closes conflicts, and
`playbook.review.resolve_conflict` decides them.
"""

from __future__ import annotations

from dataclasses import dataclass

from inference.embedding.vector import Vector
from playbook import delta_vectors
from playbook.models import Conflict, PlaybookDelta, PlaybookEntry
from playbook.queries import WAITING_STATUSES

State = Conflict.ConflictStage
Status = PlaybookDelta.DeltaStatus


@dataclass(frozen=True)
class Side:
    """One rule of a conflict: the rule of an entry, or the rule that a delta proposes.

    If the side has a delta, `entry` is the entry that the delta would change, or None.
    """

    entry: PlaybookEntry | None
    delta: PlaybookDelta | None = None

    @property
    def content(self) -> str:
        if self.delta and self.delta.content:
            return self.delta.content
        return self.entry.content if self.entry else ""

    @property
    def condition(self) -> str:
        return self._column("condition")

    @property
    def action(self) -> str:
        return self._column("action")

    def _column(self, name: str) -> str:
        """Return a column of the rule; columns that a delta does not set stay."""
        if self.delta and name in self.delta.payload:
            return str(self.delta.payload[name] or "")
        return str(getattr(self.entry, name)) if self.entry else ""

    @property
    def version(self) -> int:
        row = self.delta or self.entry
        return row.version if row else 0

    @property
    def status(self) -> str:
        row = self.delta or self.entry
        return row.status if row else PlaybookEntry.EntryStatus.DELETED

    @property
    def is_live(self) -> bool:
        if self.delta:
            return self.delta.status in WAITING_STATUSES
        return bool(self.entry and self.entry.is_live)

    @property
    def name(self) -> str:
        if self.delta:
            return f"the proposal {self.delta.pk}"
        return self.entry.label if self.entry else "the newer rule"

    @property
    def vector(self) -> Vector | None:
        if self.delta:
            return delta_vectors.find(self.delta)
        return self.entry.embedding if self.entry else None


@dataclass(frozen=True)
class Sides:
    """The two rules of a conflict: the older rule is left, the newer rule is right."""

    left: Side
    right: Side


def sides_of(conflict: Conflict) -> Sides:
    delta = conflict.delta
    if delta and delta.status not in PlaybookDelta.IN_FORCE:
        return Sides(Side(conflict.left), Side(delta.entry, delta))
    newer = conflict.right or (delta.entry if delta else None)
    return Sides(Side(conflict.left), Side(newer))

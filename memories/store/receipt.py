"""The receipt of one write."""

from __future__ import annotations

from dataclasses import dataclass, replace

from common import errors
from memories.models import Memory
from memories.near_duplicates import Similarity


@dataclass(frozen=True)
class Receipt:
    """The result of one write.

    The receipt also tells whether a search finds the memory yet.
    """

    status: str  # stored | duplicate | superseded_key | rejected
    memory: Memory | None = None
    duplicate_of: Memory | None = None
    possible_duplicates: tuple[Similarity, ...] = ()
    semantic: bool = False
    notes: tuple[str, ...] = ()
    refusal: errors.Refusal | None = None

    def with_notes(self, *notes: str) -> Receipt:
        """Return the receipt with further notes; empty notes are left out."""
        return replace(self, notes=(*self.notes, *filter(None, notes)))

    @property
    def searchable(self) -> dict[str, bool]:
        """Return which lanes of a search find the memory now."""
        is_current = self.memory is not None and self.memory.is_current
        return {"keyword": is_current, "semantic": is_current and self.semantic}

"""What became of a write."""

from __future__ import annotations

from dataclasses import dataclass

from common import errors
from memories.models import Memory
from memories.near_duplicates import Similarity


@dataclass(frozen=True)
class Receipt:
    """What became of one write, and whether it can be searched yet."""

    status: str  # stored | duplicate | superseded_key | rejected
    memory: Memory | None = None
    duplicate_of: Memory | None = None
    possible_duplicates: tuple[Similarity, ...] = ()
    semantic: bool = False
    notes: tuple[str, ...] = ()
    refusal: errors.Refusal | None = None

    @property
    def searchable(self) -> dict[str, bool]:
        """By which lanes a search finds it by now."""
        found = self.memory is not None and self.memory.is_current
        return {"keyword": found, "semantic": found and self.semantic}

"""What an invocation is given from memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

ItemKind = Literal["fact", "episode", "memory", "rule", "invocation"]
# The names under which a run records the ids of each kind.
NAMES: dict[ItemKind, str] = {
    "fact": "facts",
    "episode": "episodes",
    "memory": "digest",
    "rule": "entries",
    "invocation": "invocations",
}


@dataclass(frozen=True)
class RecalledItem:
    """A thing that is known: its id, its date, one text, and why it is given.

    `mark` is what the prompt calls it: the id of a memory, the label of a rule. `score` is
    that of the search, or the cosine of a rule.
    """

    kind: ItemKind
    id: str
    text: str
    at: datetime | None
    why: str = ""
    score: float | None = None
    mark: str = ""


@dataclass(frozen=True)
class RecalledMemory:
    """What one invocation is given, the best of each kind first.

    `notes` are soul, profile and constraints, `left_out` says what was found and is not
    given, and `errors` names the sources that failed.
    """

    items: tuple[RecalledItem, ...] = ()
    notes: str = ""
    left_out: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    def of_kind(self, *kinds: ItemKind) -> list[RecalledItem]:
        return [item for item in self.items if item.kind in kinds]

    def to_dict(self) -> dict[str, Any]:
        """Return the ids that a run records, and what failed."""
        ids = {
            name: [item.id for item in self.of_kind(kind)]
            for kind, name in NAMES.items()
        }
        return {**ids, "error": "; ".join(self.errors) or None}

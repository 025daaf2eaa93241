"""What an invocation is given from memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class RecalledItem:
    """A fact, an episode, an invocation or a rule: its id, date, one text, and why.

    `score` is that of the search, or the cosine of a rule; none for an invocation.
    """

    id: str
    text: str
    at: datetime | None
    why: str = ""
    score: float | None = None


@dataclass(frozen=True)
class RecalledMemory:
    """The tiers as one invocation is given them; `errors` names the sources that failed."""

    facts: tuple[RecalledItem, ...] = ()
    episodes: tuple[RecalledItem, ...] = ()
    invocations: tuple[RecalledItem, ...] = ()
    entries: tuple[RecalledItem, ...] = ()
    digest: str = ""
    # The memories whose texts the digest has.
    digest_ids: tuple[str, ...] = ()
    # Soul, profile and constraints at the session's snapshot.
    notes: str = ""
    errors: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the ids that a run records, and what failed."""
        return {
            "facts": [item.id for item in self.facts],
            "episodes": [item.id for item in self.episodes],
            "entries": [item.id for item in self.entries],
            "invocations": [item.id for item in self.invocations],
            "digest": list(self.digest_ids),
            "error": "; ".join(self.errors) or None,
        }

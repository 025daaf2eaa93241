"""A lesson that the rules draw from one task: a sentence in its words, with evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ace.rules import groundedness
from ace.rules.evidence import Evidence

Category = Literal[
    "dependencies", "architecture", "gotchas", "patterns", "best_practices", "general"
]

# A longer sentence cannot be understood in one reading (docs/ace.md, "Lessons").
MAX_WORDS = 60

_CATEGORIES: dict[str, Category] = {
    "DEPENDENCY": "dependencies",
    "ENV_SETUP": "dependencies",
}


@dataclass(frozen=True)
class TaskLesson:
    """A lesson: `content` is the whole sentence, `condition` and `action` are its parts.

    `reason` says why the lesson was drawn, if the quotes do not show why. `repair_key` is
    equal for two lessons about the same repair. `supply` says which other package or host
    the lesson leads to; a person must see such a lesson. `applies_to` is where a language
    model says that it applies; of the other lessons `ace.rules.applicability` reads it.
    """

    condition: str
    action: str
    content: str
    category: Category
    root_cause: str
    evidence: tuple[Evidence, ...]
    signature: str
    confidence: float
    reason: str = ""
    repair_key: str = ""
    supply: str = ""
    applies_to: tuple[str, ...] = ()


def category_of(cause: str) -> Category:
    """Return the category of a lesson about an error with this root cause."""
    return _CATEGORIES.get(cause, "gotchas")


def is_sound(content: str, quotes: Sequence[str]) -> bool:
    """Return whether the content is short, on one line, and has all its literals in the quotes."""
    words = content.split()
    if not 3 <= len(words) <= MAX_WORDS or "\n" in content:
        return False
    return groundedness.is_grounded(content, quotes)

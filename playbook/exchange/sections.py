"""Map the section of an imported playbook to a category of the project."""

from __future__ import annotations

import re
from collections.abc import Sequence

FALLBACK = "general"
_WORD = re.compile(r"[a-z]+")
# Words in section names of trained playbooks, by category. A section gets the category
# with the most words in common; the first category wins a tie.
WORDS = {
    "gotchas": "bug caveat error gotcha issue mistake pitfall trap troubleshooting warning",
    "best_practices": (
        "best checklist guideline heuristic insight practice principle rule strategy"
        " verification workflow"
    ),
    "patterns": "code example formula idiom pattern recipe snippet template",
    "dependencies": "dependency library package requirement version",
    "architecture": "architecture component convention design layout module structure",
}


def category(section: str, categories: Sequence[str], *, otherwise: str = "") -> str:
    """Return the best category for a section; if none fits, `otherwise` or a general one."""
    words = _words(section)
    slug = "_".join(_WORD.findall(section.lower()))
    if slug in categories:
        return slug
    scores = {name: len(words & _keywords(name)) for name in categories}
    # In the order of the table, then of the project, so that ties are stable.
    best_first = sorted(scores, key=lambda name: (-scores[name], _rank(name)))
    if best_first and scores[best_first[0]]:
        return best_first[0]
    return otherwise or (FALLBACK if FALLBACK in categories else categories[0])


def tag(section: str) -> str:
    """Return the section's name as a tag; empty without a name."""
    return re.sub(r"[\W_]+", "-", section.lower()).strip("-")[:64]


def _keywords(category: str) -> set[str]:
    return _words(f"{category} {WORDS.get(category, '')}") - {FALLBACK}


def _rank(category: str) -> int:
    names = list(WORDS)
    return names.index(category) if category in names else len(names)


def _words(text: str) -> set[str]:
    return {_singular(word) for word in _WORD.findall(text.lower())}


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word

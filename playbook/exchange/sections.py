"""Map the section of an imported playbook to a category of the project."""

from __future__ import annotations

import re
from collections.abc import Sequence

FALLBACK = "general"
_WORD = re.compile(r"[a-z]+")
# Words in section names of trained playbooks, by category. A section gets the category
# that shares the most words with the section's name. In a tie, the first category wins.
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
    """Return the best category for a section.

    If no category fits, return `otherwise` or a general category.
    """
    words = _words(section)
    slug = "_".join(_WORD.findall(section.lower()))
    if slug in categories:
        return slug
    scores = {name: len(words & _keywords(name)) for name in categories}
    # Categories are in the order of the table, then in the project's order, so that ties
    # are stable.
    best_first = sorted(scores, key=lambda name: (-scores[name], _rank(name)))
    if best_first and scores[best_first[0]]:
        return best_first[0]
    return otherwise or (FALLBACK if FALLBACK in categories else categories[0])


def tag(section: str) -> str:
    """Return the section's name as a tag, which may be longer than a tag can be.

    Return an empty string if the section has no name.
    """
    return re.sub(r"[\W_]+", "-", section.lower()).strip("-")


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

"""The guard of live entries: no unsafe text becomes live.

Every road to a live entry calls `refuse_unsafe`: revisions and undo.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from common import errors
from playbook.models import PlaybookEntry
from playbook.rule_text import unsafe_phrases
from playbook.rule_text.unsafe_phrases import UnsafePhrase
from projects.models import Project
from projects.own_hosts import find_own_hosts

# Columns that agents read as the rule.
RULE_COLUMNS = ("content", "condition", "action")
MAX_LISTED = 20  # entries that a refusal lists


class UnsafeText(errors.Refusal):
    """The text is dangerous or reads like an attack; take these words out."""

    status = 422
    code = "unsafe_text"


@dataclass(frozen=True)
class UnsafePhrases:
    """The unsafe phrases of a text, named by the label of its entry."""

    label: str
    phrases: tuple[UnsafePhrase, ...]

    @property
    def kinds(self) -> list[str]:
        return sorted({phrase.kind for phrase in self.phrases})

    @property
    def details(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "kinds": self.kinds,
            "words": [phrase.words for phrase in self.phrases[:MAX_LISTED]],
        }


@dataclass(frozen=True)
class RuleText:
    """The columns of an entry that an agent reads, at one moment."""

    columns: tuple[str, str, str]
    tags: tuple[str, ...]
    is_live: bool

    @classmethod
    def of(cls, entry: PlaybookEntry) -> RuleText:
        columns = (entry.content, entry.condition, entry.action)
        return cls(columns, tuple(entry.tags), entry.is_live)

    @property
    def whole(self) -> str:
        return unsafe_phrases.join_columns(*self.columns, self.tags)

    def new_text(self, before: RuleText | None) -> str:
        """Return the text that becomes live; it is empty if nothing does."""
        if not self.is_live:
            return ""
        if before is None or not before.is_live or before.columns != self.columns:
            return self.whole
        return "\n".join(tag for tag in self.tags if tag not in before.tags)


def find_unsafe(project: Project, texts: Mapping[str, str]) -> list[UnsafePhrases]:
    """Return those of the texts, by label, that have unsafe phrases."""
    hosts = find_own_hosts(project) if any(texts.values()) else frozenset()
    return [
        UnsafePhrases(label, phrases)
        for label, text in texts.items()
        if text and (phrases := unsafe_phrases.find_phrases(text, hosts))
    ]


def refuse_unsafe(project: Project, texts: Mapping[str, str]) -> None:
    """Raise UnsafeText if one of the texts that become live, by label, is unsafe."""
    if found := find_unsafe(project, texts):
        raise refusal_of(found)


def refusal_of(found: list[UnsafePhrases]) -> UnsafeText:
    first = unsafe_phrases.describe(found[0].phrases)
    labels = ", ".join(text.label for text in found[:MAX_LISTED])
    names = f"{labels}: {first}" if len(found) == 1 else f"{first} Entries: {labels}."
    return UnsafeText(
        f"{names} Take these words out.",
        unsafe=[text.details for text in found[:MAX_LISTED]],
    )

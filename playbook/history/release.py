"""The guard of live entries: an unsafe text becomes live only if an owner releases it.

Every road to a live entry calls `require_release`: revisions, undo and the restoring of
an export. The owner's reason comes with the request; nothing else counts as a release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit import trail
from common import errors
from common.caller import Caller
from playbook.models import Playbook, PlaybookEntry
from playbook.rule_text import unsafe_phrases
from playbook.rule_text.unsafe_phrases import UnsafePhrase
from projects.models import Project
from projects.own_hosts import find_own_hosts

# Columns that agents read as the rule.
RULE_COLUMNS = ("content", "condition", "action")
# Characters of a reason that are not blank.
MIN_REASON = 10
MAX_LISTED = 20  # entries that a refusal lists
MEND = (
    "Take these words out, or let an owner of the project release it with a typed reason "
    f"(`release_reason`) of at least {MIN_REASON} characters."
)


class NeedsRelease(errors.Refusal):
    """The text is unsafe; only an owner of the project makes it live, with a typed reason."""

    status = 403
    code = "needs_release"


@dataclass(frozen=True)
class UnsafeText:
    """An unsafe text, named by the label of its entry."""

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


def may_release(caller: Caller, project: Project, reason: str) -> bool:
    """Whether the caller is an unbound owner who typed a reason that is long enough."""
    typed = sum(c.isprintable() and not c.isspace() for c in reason)
    return caller.owns(project.pk) and typed >= MIN_REASON


def find_unsafe(project: Project, texts: Mapping[str, str]) -> list[UnsafeText]:
    """Return those of the texts, by label, that have unsafe phrases."""
    hosts = find_own_hosts(project) if any(texts.values()) else frozenset()
    return [
        UnsafeText(label, phrases)
        for label, text in texts.items()
        if text and (phrases := unsafe_phrases.find_phrases(text, hosts))
    ]


def require_release(
    project: Project, caller: Caller, texts: Mapping[str, str], reason: str
) -> list[UnsafeText]:
    """Return the unsafe ones of the texts that become live, by label.

    Raises NeedsRelease if there is one, unless the caller is an owner who typed a reason.
    """
    found = find_unsafe(project, texts)
    if found and not may_release(caller, project, reason):
        raise needs_release(found)
    return found


def needs_release(found: list[UnsafeText]) -> NeedsRelease:
    first = unsafe_phrases.describe(found[0].phrases)
    labels = ", ".join(text.label for text in found[:MAX_LISTED])
    names = f"{labels}: {first}" if len(found) == 1 else f"{first} Entries: {labels}."
    return NeedsRelease(
        f"{names} {MEND}", unsafe=[text.details for text in found[:MAX_LISTED]]
    )


def record_release(
    caller: Caller, playbook: Playbook, released: Sequence[UnsafeText], reason: str
) -> None:
    """Write the audit row of a release that is no decision about a delta."""
    trail.record(
        caller,
        "playbook.release",
        project_id=playbook.project_id,
        object_type="playbook",
        object_id=playbook.pk,
        reason=reason[:1000],
        labels=[text.label for text in released[:MAX_LISTED]],
        kinds=sorted({kind for text in released for kind in text.kinds}),
    )

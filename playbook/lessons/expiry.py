"""Until when a rule holds: a pull request or a branch that is not merged yet, or a day.

`expires_when` is a sentence such as "PR 214 merged", "branch fix/login merged" or
"2026-03-01". When calls show that the work has ended, or the day has passed, the rule is in
doubt until a person decides. Until then, a rule about a branch is given on that branch alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.utils import timezone

from common.caller import Caller
from playbook.lessons import doubt
from playbook.lessons.doubt import DoubtKind
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.queries import EntryQuerySet
from projects.models import Project

_PULL_REQUEST = re.compile(
    r"(?:\bPRs?|\bMRs?|\b(?:pull|merge) requests?)[ #!]{0,3}(\d{1,7})\b|#(\d{1,7})\b",
    re.IGNORECASE,
)
_BRANCH = re.compile(r"\bbranch [`'\"]?([\w.][\w./-]{0,199})", re.IGNORECASE)
_DAY = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")


@dataclass(frozen=True)
class Expiry:
    """What ends a rule: names of work such as `pr 214` and `branch x`, and a day."""

    work: frozenset[str]
    day: date | None

    @property
    def branches(self) -> frozenset[str]:
        found = (name for name in self.work if name.startswith("branch "))
        return frozenset(name.removeprefix("branch ") for name in found)

    def has_ended(self, ended: Collection[str]) -> bool:
        is_past = self.day is not None and self.day < timezone.now().date()
        return is_past or bool(self.work & set(ended))

    def holds_on(self, branch: str) -> bool:
        """Whether a rule is given on a branch; everywhere if it names none."""
        return not (branch and self.branches) or branch in self.branches


def read(text: str) -> Expiry:
    """Read the sentence; what it names in other words ends by a person alone."""
    found = _PULL_REQUEST.findall(text)
    work = {name_pull_request(one or other) for one, other in found}
    work |= {name_branch(branch) for branch in _BRANCH.findall(text)}
    return Expiry(frozenset(work), _read_day(text))


def name_pull_request(number: str) -> str:
    return f"pr {int(number)}"


def name_branch(branch: str) -> str:
    return f"branch {branch.rstrip('.')}"


def _read_day(text: str) -> date | None:
    match = _DAY.search(text)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:  # no day of the calendar
        return None


def doubt_ended(
    project: Project, ended: Collection[str], caller: Caller, **columns: Any
) -> list[PlaybookDelta]:
    """Put the rules in doubt whose work has ended, or whose day has passed."""
    retirements = [
        doubt.retirement(
            entry,
            reason=f'{entry.label} holds until "{entry.expires_when}", which has come.',
            evidence=f"{entry.expires_when} {entry.verified_at}",
            **columns,
        )
        for entry in _find(project)
        if read(entry.expires_when).has_ended(ended)
    ]
    if not retirements:
        return []
    return doubt.raise_doubts(project, DoubtKind.EXPIRED, retirements, caller)


def _find(project: Project) -> Iterator[PlaybookEntry]:
    rows: EntryQuerySet = PlaybookEntry.objects.current().light()
    yield from rows.filter(project=project).exclude(expires_when="").order_by("pk")

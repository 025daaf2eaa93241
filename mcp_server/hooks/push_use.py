"""Count what hooks gave unasked in a time, and which fixes were then used.

How rules and memories were used is known of their exposures (`playbook.reading.exposures`,
`memories.read.exposures`), whichever way they were given, and is counted there alone.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, QuerySet, Sum

from ace.models import ObservedRepair
from common.caller import Caller
from mcp_server.hooks.pushes import digest
from mcp_server.models import Push
from projects.models import Project

MAX_FIXES = 2_000  # fixes of one week that are looked up, the newest first


class GivenFix(NamedTuple):
    """The columns of a `Push` that are compared."""

    session: str
    subject: str
    repair_id: uuid.UUID | None
    at: datetime


class LaterRepair(NamedTuple):
    """The columns of an `ObservedRepair` that are compared."""

    session: str
    signature: str
    cure: str
    has_worked: bool
    created_at: datetime


@dataclass(frozen=True)
class FixUse:
    """The fixes that hooks gave at a failing call.

    A fix was used if its session then did what it says, and that worked. It was not used if the
    session tried something else against the same failure. Of a session that shows neither,
    nothing is known.
    """

    given: int = 0
    used: int = 0
    not_used: int = 0

    @property
    def sentence(self) -> str:
        """Return a sentence without its first words and point, such as "2 fixes were …"."""
        if not self.given:
            return "no fix was given back at a failing command"
        verb = "was" if self.given == 1 else "were"
        given = f"{_count(self.given, 'fix', 'fixes')} {verb} given back at a failing command"
        if self.used:
            verb = "was" if self.used == 1 else "were"
            return f"{given}; {self.used:,} {verb} then used"
        return f"{given}; none is known to be used"

    @property
    def rest(self) -> str:
        """Return sentences about the fixes that were not used; "" if all were."""
        unknown = self.given - self.used - self.not_used
        parts = []
        if self.not_used:
            fixes = _count(self.not_used, "fix", "fixes")
            parts.append(f"Instead of {fixes} the session tried something else.")
        if unknown:
            parts.append(f"Of {_count(unknown, 'fix', 'fixes')} the use is not known.")
        return " ".join(parts)


NO_FIXES = FixUse()


@dataclass(frozen=True)
class PushUse:
    """The lines that hooks gave, and the sessions and tokens."""

    lines: int
    sessions: int
    tokens: int

    @property
    def tokens_per_session(self) -> int:
        return round(self.tokens / self.sessions) if self.sessions else 0

    @property
    def sentence(self) -> str:
        return (
            f"Hooks gave {_count(self.lines, 'line', 'lines')} in "
            f"{_count(self.sessions, 'session', 'sessions')}, "
            f"{self.tokens_per_session:,} tokens a session."
        )


NOTHING_PUSHED = PushUse(0, 0, 0)


def count(project: Project, start: datetime, end: datetime, caller: Caller) -> PushUse:
    total = _rows(project, start, end, caller).aggregate(
        lines=Count("pk"),
        sessions=Count("session", distinct=True),
        tokens=Sum("tokens", default=0),
    )
    return PushUse(**total)


def count_fixes(
    project: Project, start: datetime, end: datetime, caller: Caller
) -> FixUse:
    """Count the fixes that were given in a time, at most MAX_FIXES, and used in it."""
    fixes = _rows(project, start, end, caller).filter(kind=Push.PushKind.FIX)
    pushes = [
        GivenFix(*row)
        for row in fixes.order_by("-pk").values_list(*GivenFix._fields)[:MAX_FIXES]
    ]
    if not pushes:
        return NO_FIXES
    repairs = ObservedRepair.objects.visible_to(caller).filter(project=project)
    given = repairs.filter(pk__in=[push.repair_id for push in pushes])
    cures: dict[uuid.UUID | None, str] = dict(given.values_list("pk", "cure"))
    later = _by_session(repairs.filter(created_at__lt=end), pushes)
    used = not_used = 0
    for push in pushes:
        cure = cures.get(push.repair_id)
        tries = [
            row for row in later[push.session, push.subject] if row.created_at > push.at
        ]
        if cure is None or not tries:
            continue
        if any(row.cure == cure and row.has_worked for row in tries):
            used += 1
        else:
            not_used += 1
    return FixUse(len(pushes), used, not_used)


def _rows(
    project: Project, start: datetime, end: datetime, caller: Caller
) -> QuerySet[Push]:
    rows: QuerySet[Push] = Push.objects.visible_to(caller)
    return rows.filter(project=project, at__gte=start, at__lt=end)


def _by_session(
    repairs: QuerySet[ObservedRepair], pushes: Iterable[GivenFix]
) -> dict[tuple[str, str], list[LaterRepair]]:
    found: defaultdict[tuple[str, str], list[LaterRepair]] = defaultdict(list)
    signatures = {push.subject for push in pushes}
    oldest = min((push.at for push in pushes), default=None)
    if oldest:
        rows = repairs.filter(signature__in=signatures, created_at__gt=oldest)
        for values in rows.order_by().values_list(*LaterRepair._fields):
            row = LaterRepair(*values)
            found[digest(row.session), row.signature].append(row)
    return found


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"

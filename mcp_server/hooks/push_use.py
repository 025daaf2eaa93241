"""Count what hooks gave unasked in a time, and whether it was followed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import (
    Count,
    DateTimeField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    QuerySet,
    Sum,
    UUIDField,
    Value,
)
from django.db.models.functions import Cast

from ace.models import ObservedRepair
from common.caller import Caller
from mcp_server.hooks.pushes import digest
from mcp_server.models import Push
from memories.models import MemoryExposure
from memories.read.exposures import CREDIT_WINDOW
from playbook.models import Exposure
from projects.models import Project

# What tasks are credited with: the kind of its pushes, its exposures, and their subject.
CREDITED = (
    (Push.PushKind.RULE, Exposure, "entry_id"),
    (Push.PushKind.MEMORY, MemoryExposure, "memory_id"),
)
UNTIL = ExpressionWrapper(F("at") + Value(CREDIT_WINDOW), DateTimeField())
MAX_FIXES = 2_000  # fixes of one week that are looked up, the newest first


@dataclass(frozen=True)
class PushUse:
    """The lines that hooks gave, the sessions and tokens, and how the lines were used.

    Rules, memories and fixes are measured. A rule or memory is followed if the next finished
    task cites it or did what it recommends, a fix if its session then used the same cure.
    """

    lines: int
    sessions: int
    tokens: int
    measured: int = 0
    followed: int = 0
    ignored: int = 0

    @property
    def tokens_per_session(self) -> int:
        return round(self.tokens / self.sessions) if self.sessions else 0

    @property
    def sentence(self) -> str:
        unknown = self.measured - self.followed - self.ignored
        return (
            f"Hooks pushed {_count(self.lines, 'line')} in "
            f"{_count(self.sessions, 'session')}, {self.tokens_per_session:,} tokens a "
            f"session. Of {self.measured:,} rules, memories and fixes, {self.followed:,} "
            f"were followed, {self.ignored:,} ignored, and {unknown:,} are not known yet."
        )


NOTHING_PUSHED = PushUse(0, 0, 0)


def count(project: Project, start: datetime, end: datetime, caller: Caller) -> PushUse:
    rows = Push.objects.visible_to(caller).filter(
        project=project, at__gte=start, at__lt=end
    )
    total = rows.aggregate(
        lines=Count("pk"),
        sessions=Count("session", distinct=True),
        tokens=Sum("tokens", default=0),
    )
    if not total["lines"]:
        return NOTHING_PUSHED
    fixes = rows.filter(kind=Push.PushKind.FIX)
    followed, ignored = _count_fixes(fixes, project, caller)
    measured = fixes.count()
    for kind, exposures, subject in CREDITED:
        visible = exposures.objects.visible_to(caller).filter(project=project)
        credited = _credited_rows(visible, subject)
        used = credited.exclude(used_as="")
        pushes = rows.filter(kind=kind).annotate(until=UNTIL)
        measured += pushes.count()
        followed += pushes.filter(Exists(used)).count()
        ignored += pushes.filter(Exists(credited) & ~Exists(used)).count()
    return PushUse(**total, measured=measured, followed=followed, ignored=ignored)


def _credited_rows(exposures: QuerySet[Any], subject: str) -> QuerySet[Any]:
    """Select the exposures of a push that a task was credited with."""
    about = {subject: Cast(OuterRef("subject"), UUIDField())}
    return exposures.filter(
        **about,
        key_id=OuterRef("key_id"),
        at__gte=OuterRef("at"),
        at__lt=OuterRef("until"),
        run_id__isnull=False,
    ).order_by()


def _count_fixes(
    fixes: QuerySet[Push], project: Project, caller: Caller
) -> tuple[int, int]:
    """Return how many fixes were followed and ignored.

    A session of which no later repair of the failure is known says neither.
    """
    pushes = list(fixes.order_by("-pk")[:MAX_FIXES])
    repairs = ObservedRepair.objects.visible_to(caller).filter(project=project)
    cures = repairs.in_bulk([push.repair_id for push in pushes])
    later = _by_session(repairs, pushes)
    followed = ignored = 0
    for push in pushes:
        cure = cures.get(push.repair_id)
        tries = [
            row for row in later[push.session, push.subject] if row.created_at > push.at
        ]
        if cure is None or not tries:
            continue
        if any(row.cure == cure.cure and row.has_worked for row in tries):
            followed += 1
        else:
            ignored += 1
    return followed, ignored


def _by_session(
    repairs: QuerySet[ObservedRepair], pushes: Iterable[Push]
) -> dict[tuple[str, str], list[ObservedRepair]]:
    found: defaultdict[tuple[str, str], list[ObservedRepair]] = defaultdict(list)
    signatures = {push.subject for push in pushes}
    oldest = min((push.at for push in pushes), default=None)
    if oldest:
        rows = repairs.filter(signature__in=signatures, created_at__gt=oldest)
        for row in rows.order_by("pk"):
            found[digest(row.session), row.signature].append(row)
    return found


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

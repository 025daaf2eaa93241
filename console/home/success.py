"""How tasks end with entries of the playbook at hand, and how without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef
from django.db.models.functions import TruncWeek

from ace.models import AceRun, Reflection
from common.caller import Caller
from common.ids import first_at
from console import lists, weeks
from console.home.charts import Chart, Point, Series, in_words, share
from console.weeks import Week
from playbook.models import Exposure
from projects.models import Project

WEEKS = 12
MOST = 5_000  # runs that are looked at, the newest
RUN = "ace_acerun"
ARMS = {
    "given": ("With entries", "#8b5cf6"),
    "none": ("Without", "#64748b"),
}


@dataclass(frozen=True)
class Ended:
    """How many tasks succeeded, of those whose end is known."""

    succeeded: int = 0
    known: int = 0

    def __add__(self, other: Ended) -> Ended:
        return Ended(self.succeeded + other.succeeded, self.known + other.known)


def chart(project: Project, caller: Caller) -> Chart:
    shown = weeks.last(WEEKS)
    ended = _ended(_rows(project, caller, shown[0].start))
    return Chart(
        title="Success with and without the playbook",
        along="Week",
        labels=[str(week)[5:] for week in shown],
        series=[
            Series(
                name,
                colour,
                [_point(project, week, arm, ended[week, arm]) for week in shown],
            )
            for arm, (name, colour) in ARMS.items()
        ],
        note=_told(ended),
        empty=f"No outcome is known of the last {WEEKS} weeks' tasks.",
        kind="line",
        unit="% successful",
        most=100,
    )


def _rows(project: Project, caller: Caller, start: datetime) -> Iterable[Any]:
    runs = AceRun.objects.visible_to(caller).filter(
        project=project, pk__gte=first_at(start), created_at__gte=start
    )
    newest = runs.order_by("-pk").values("pk")[:MOST]
    given = Exposure.objects.visible_to(caller).filter(
        project=project, run_id=OuterRef("run_id")
    )
    return (
        Reflection.objects.visible_to(caller)
        .filter(run__in=newest)
        .exclude(outcome="unknown")
        .order_by()
        .annotate(week=TruncWeek("run__created_at"), given=Exists(given))
        .values("week", "given", "outcome")
        .annotate(n=Count("pk"))
    )


def _ended(rows: Iterable[Any]) -> dict[tuple[Week, str], Ended]:
    known: Counter[tuple[Week, str]] = Counter()
    succeeded: Counter[tuple[Week, str]] = Counter()
    for row in rows:
        of = weeks.of(row["week"]), "given" if row["given"] else "none"
        known[of] += row["n"]
        succeeded[of] += row["n"] if row["outcome"] == "success" else 0
    return _Ended({of: Ended(succeeded[of], known[of]) for of in known})


class _Ended(dict[tuple[Week, str], Ended]):
    def __missing__(self, of: tuple[Week, str]) -> Ended:
        return Ended()


def _point(project: Project, week: Week, arm: str, ended: Ended) -> Point:
    where = lists.days("created_at", week, week)
    return Point(
        share(ended.succeeded, ended.known),
        in_words(ended.succeeded, ended.known),
        lists.of(RUN, project, entries=arm, **where) if ended.known else "",
    )


def _told(ended: dict[tuple[Week, str], Ended]) -> str:
    if not ended:
        return ""
    parts = []
    for arm, (name, _) in ARMS.items():
        total = sum((e for (_, a), e in ended.items() if a == arm), Ended())
        parts.append(f"{name}: {in_words(total.succeeded, total.known)}")
    return " · ".join(parts)

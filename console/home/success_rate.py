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
from common.ids import lowest_id_at
from console import list_urls, weeks
from console.home.charts import Chart, Point, Series, describe_share, percentage
from console.weeks import Week
from playbook.models import Exposure
from projects.models import Project

WEEKS = 12
MAX_RUNS = 5_000  # runs that are looked at, the newest
RUN = "ace_acerun"
ARMS = {
    "given": ("With entries", "#8b5cf6"),
    "none": ("Without", "#64748b"),
}


@dataclass(frozen=True)
class TaskOutcomes:
    """How many tasks succeeded, of those whose end is known."""

    succeeded: int = 0
    known: int = 0

    def __add__(self, other: TaskOutcomes) -> TaskOutcomes:
        return TaskOutcomes(self.succeeded + other.succeeded, self.known + other.known)


def chart(project: Project, caller: Caller) -> Chart:
    shown = weeks.last_weeks(WEEKS)
    ended = _count_outcomes(_rows(project, caller, shown[0].start))
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
        note=_note(ended),
        empty=f"No outcome is known of the last {WEEKS} weeks' tasks.",
        kind="line",
        unit="% successful",
        most=100,
    )


def _rows(project: Project, caller: Caller, start: datetime) -> Iterable[Any]:
    runs = AceRun.objects.visible_to(caller).filter(
        project=project, pk__gte=lowest_id_at(start), created_at__gte=start
    )
    newest = runs.order_by("-pk").values("pk")[:MAX_RUNS]
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


def _count_outcomes(rows: Iterable[Any]) -> dict[tuple[Week, str], TaskOutcomes]:
    known: Counter[tuple[Week, str]] = Counter()
    succeeded: Counter[tuple[Week, str]] = Counter()
    for row in rows:
        of = weeks.week_of(row["week"]), "given" if row["given"] else "none"
        known[of] += row["n"]
        succeeded[of] += row["n"] if row["outcome"] == "success" else 0
    return _OutcomesByArm({of: TaskOutcomes(succeeded[of], known[of]) for of in known})


class _OutcomesByArm(dict[tuple[Week, str], TaskOutcomes]):
    def __missing__(self, of: tuple[Week, str]) -> TaskOutcomes:
        return TaskOutcomes()


def _point(project: Project, week: Week, arm: str, ended: TaskOutcomes) -> Point:
    where = list_urls.week_filter("created_at", week, week)
    return Point(
        percentage(ended.succeeded, ended.known),
        describe_share(ended.succeeded, ended.known),
        list_urls.admin_list(RUN, project, entries=arm, **where) if ended.known else "",
    )


def _note(ended: dict[tuple[Week, str], TaskOutcomes]) -> str:
    if not ended:
        return ""
    parts = []
    for arm, (name, _) in ARMS.items():
        total = sum((e for (_, a), e in ended.items() if a == arm), TaskOutcomes())
        parts.append(f"{name}: {describe_share(total.succeeded, total.known)}")
    return " · ".join(parts)

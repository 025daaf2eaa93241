"""How many tasks succeed with entries from the playbook, and how many without."""

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
MAX_RUNS = 5_000  # only the newest runs are counted
RUN = "ace_acerun"
ARMS = {
    "given": ("With entries", "#8b5cf6"),
    "none": ("Without", "#64748b"),
}


@dataclass(frozen=True)
class TaskOutcomes:
    """The number of tasks with a known outcome, and how many of these succeeded."""

    succeeded: int = 0
    known: int = 0

    def __add__(self, other: TaskOutcomes) -> TaskOutcomes:
        return TaskOutcomes(self.succeeded + other.succeeded, self.known + other.known)


def chart(project: Project, caller: Caller) -> Chart:
    all_weeks = weeks.last_weeks(WEEKS)
    outcomes = _count_outcomes(_rows(project, caller, all_weeks[0].start))
    return Chart(
        title="Success with and without the playbook",
        axis_title="Week",
        labels=[str(week)[5:] for week in all_weeks],
        series=[
            Series(
                name,
                colour,
                [_point(project, week, arm, outcomes[week, arm]) for week in all_weeks],
            )
            for arm, (name, colour) in ARMS.items()
        ],
        note=_note(outcomes),
        empty=f"No outcome is known of the last {WEEKS} weeks' tasks.",
        kind="line",
        unit="% successful",
        axis_max=100,
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
        key = weeks.week_of(row["week"]), "given" if row["given"] else "none"
        known[key] += row["n"]
        succeeded[key] += row["n"] if row["outcome"] == "success" else 0
    return _OutcomesByArm(
        {key: TaskOutcomes(succeeded[key], known[key]) for key in known}
    )


class _OutcomesByArm(dict[tuple[Week, str], TaskOutcomes]):
    def __missing__(self, key: tuple[Week, str]) -> TaskOutcomes:
        return TaskOutcomes()


def _point(project: Project, week: Week, arm: str, outcome: TaskOutcomes) -> Point:
    where = list_urls.week_filter("created_at", week, week)
    return Point(
        percentage(outcome.succeeded, outcome.known),
        describe_share(outcome.succeeded, outcome.known),
        list_urls.admin_list(RUN, project, entries=arm, **where)
        if outcome.known
        else "",
    )


def _note(outcomes: dict[tuple[Week, str], TaskOutcomes]) -> str:
    if not outcomes:
        return ""
    parts = []
    for arm, (name, _) in ARMS.items():
        total = sum((e for (_, a), e in outcomes.items() if a == arm), TaskOutcomes())
        parts.append(f"{name}: {describe_share(total.succeeded, total.known)}")
    return " · ".join(parts)

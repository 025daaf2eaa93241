"""How the playbook grows: entries added and removed per hundred runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce

from ace.models import AceRun
from common.caller import Caller
from console import list_urls, weeks
from console.home.charts import Chart, Point, Series
from playbook.models import PlaybookChange
from projects.models import Project

RUNS_PER_GROUP = 100
MAX_GROUPS = 10
COLOURS = {"add": "#16a34a", "delete": "#ef4444"}
CHANGE = "playbook_playbookchange"


def chart(project: Project, caller: Caller) -> Chart:
    runs = _rows(project, caller)
    groups = [
        runs[at : at + RUNS_PER_GROUP] for at in range(0, len(runs), RUNS_PER_GROUP)
    ][::-1]
    added = [sum(run["added"] for run in group) for group in groups]
    removed = [sum(run["retired"] for run in group) for group in groups]
    return Chart(
        title=f"Playbook growth per {RUNS_PER_GROUP} runs",
        axis_title="Runs",
        labels=[_days_label(group) for group in groups],
        series=[
            Series("Added", COLOURS["add"], [Point(n) for n in added]),
            Series(
                "Removed",
                COLOURS["delete"],
                [Point(-n or 0, f"{n:,}") for n in removed],
            ),
        ],
        note=_note(sum(added) - sum(removed), len(runs)),
        note_url=_changes_url(project, runs) if runs else "",
        empty="No run has changed the playbook yet.",
    )


def _rows(project: Project, caller: Caller) -> Sequence[Mapping[str, Any]]:
    """Return the newest runs. Each row has the numbers of entries added and retired."""
    runs = AceRun.objects.visible_to(caller).filter(project=project).order_by("-pk")
    return list(
        runs.annotate(
            added=_count_changes("add", caller),
            retired=_count_changes("delete", caller),
        ).values("created_at", "added", "retired")[: RUNS_PER_GROUP * MAX_GROUPS]
    )


def _count_changes(operation: str, caller: Caller) -> Coalesce:
    rows = (
        PlaybookChange.objects.visible_to(caller)
        .filter(run_id=OuterRef("pk"), operation=operation)
        .order_by()
        .values("run_id")
        .annotate(n=Count("pk"))
    )
    return Coalesce(Subquery(rows.values("n")), 0)


def _days_label(group: Sequence[Mapping[str, Any]]) -> str:
    """Return the days of a group of runs. The newest run must be first."""
    first, last = (f"{run['created_at']:%b %-d}" for run in (group[-1], group[0]))
    return first if first == last else f"{first} to {last}"


def _note(growth: int, runs: int) -> str:
    return (
        f"{growth * RUNS_PER_GROUP / runs:+.1f} entries per {RUNS_PER_GROUP} runs"
        if runs
        else ""
    )


def _changes_url(project: Project, runs: Sequence[Mapping[str, Any]]) -> str:
    first, last = (weeks.week_of(run["created_at"]) for run in (runs[-1], runs[0]))
    return list_urls.admin_list(
        CHANGE, project, **list_urls.week_filter("changed_at", first, last)
    )

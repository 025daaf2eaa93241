"""Count the memories of each type and week, and how many of them were duplicates."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from django.db.models import Count, Subquery
from django.db.models.functions import Coalesce, TruncWeek

from common.caller import Caller
from console import list_urls, weeks
from console.home.charts import Chart, Point, Series, describe_share
from console.weeks import Week
from memories.models import Memory
from projects.models import Project

WEEKS = 12
MAX_MEMORIES = 100_000  # only the newest memories are counted
COLOURS = {
    "error_fix": "#16a34a",
    "discovery": "#0ea5e9",
    "decision": "#8b5cf6",
    "learning": "#f59e0b",
    "warning": "#ef4444",
    "codebase_knowledge": "#64748b",
}
MEMORY = "memories_memory"


def chart(project: Project, caller: Caller) -> Chart:
    all_weeks = weeks.last_weeks(WEEKS)
    counts: Counter[tuple[Week, str]] = Counter()
    duplicates = 0
    for row in _rows(project, caller, all_weeks[0].start):
        counts[weeks.week_of(row["week"]), row["memory_type"]] += row["n"]
        duplicates += row["n"] if row["is_duplicate"] else 0
    return Chart(
        title="Memories stored",
        axis_title="Week",
        labels=[str(week)[5:] for week in all_weeks],
        series=[
            Series(
                Memory.Type(name).label,
                colour,
                [_point(project, week, name, counts[week, name]) for week in all_weeks],
            )
            for name, colour in COLOURS.items()
        ],
        note=_note(duplicates, counts.total()),
        note_url=list_urls.admin_list(
            MEMORY,
            project,
            state="duplicate",
            **list_urls.week_filter("created_at", all_weeks[0], all_weeks[-1]),
        ),
        empty=f"No memory was stored in the last {WEEKS} weeks.",
    )


def _rows(project: Project, caller: Caller, start: datetime) -> list[dict[str, Any]]:
    """Count memories by week, by type and by whether they are duplicates.

    The query reads nothing but the index `memory_stored`.
    """
    rows = Memory.objects.visible_to(caller).filter(
        project=project, created_at__gte=start
    )
    newest = rows.order_by("-created_at").values("created_at")[
        MAX_MEMORIES : MAX_MEMORIES + 1
    ]
    return list(
        rows.filter(created_at__gte=Coalesce(Subquery(newest), start))
        .order_by()
        .annotate(week=TruncWeek("created_at"))
        .values("week", "memory_type", "is_duplicate")
        .annotate(n=Count("*"))
    )


def _point(project: Project, week: Week, name: str, count: int) -> Point:
    where = list_urls.week_filter("created_at", week, week)
    url = (
        list_urls.admin_list(MEMORY, project, memory_type=name, **where)
        if count
        else ""
    )
    return Point(count, url=url)


def _note(duplicates: int, total: int) -> str:
    if not total:
        return ""
    of = f"newest {MAX_MEMORIES:,}" if total >= MAX_MEMORIES else f"last {WEEKS} weeks"
    return f"Duplicates in the {of}: {describe_share(duplicates, total)}"

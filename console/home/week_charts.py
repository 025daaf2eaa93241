"""The charts of the home page: what twelve weeks brought, each number with its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, TruncWeek

from ace.models import AceRun, Reflection
from common.caller import Caller
from common.ids import lowest_id_at
from console import list_urls, weeks
from console.home.charts import Chart, Point, Series, describe_share, percentage
from console.weeks import Week
from memories.models import Memory
from playbook.models import Exposure, PlaybookChange, PlaybookDelta
from projects.models import Project

WEEKS = 12
# Only the newest memories and runs are counted.
MAX_MEMORIES, MAX_RUNS = 100_000, 5_000
Counts = Counter[tuple[Any, ...]]  # (week, key, ...): rows
Labels = Mapping[str, tuple[str, str]]  # {key: (name of the series, colour)}
MEMORY_TYPES: Labels = {
    name: (Memory.Type(name).label, colour)
    for name, colour in {
        "error_fix": "#16a34a",
        "discovery": "#0ea5e9",
        "decision": "#8b5cf6",
        "learning": "#f59e0b",
        "warning": "#ef4444",
        "codebase_knowledge": "#64748b",
    }.items()
}
OPERATIONS: Labels = {"add": ("Added", "#16a34a"), "delete": ("Removed", "#ef4444")}
ARMS: Labels = {"given": ("With entries", "#8b5cf6"), "none": ("Without", "#64748b")}
# A person decided the first four; the policy applied the last.
DECISIONS: Labels = {
    "accepted": ("Accepted", "#16a34a"),
    "edited": ("Edited", "#84cc16"),
    "rejected": ("Rejected", "#ef4444"),
    "reverted": ("Reverted", "#f59e0b"),
    "applied": ("Applied", "#94a3b8"),
}
ACCEPTED = ("accepted", "edited")


def build(project: Project, caller: Caller) -> list[Chart]:
    charts = (memories_stored, playbook_growth, success, decisions)
    return [chart(project, caller) for chart in charts]


def memories_stored(project: Project, caller: Caller) -> Chart:
    start = _first_week().start
    rows = Memory.objects.visible_to(caller).filter(
        project=project, created_at__gte=start
    )
    newest = rows.order_by("-created_at").values("created_at")[
        MAX_MEMORIES : MAX_MEMORIES + 1
    ]
    # The query reads nothing but the index `memory_stored`.
    counts = _count_by_week(
        rows.filter(created_at__gte=Coalesce(Subquery(newest), start)),
        "created_at",
        "memory_type",
        "is_duplicate",
    )
    total = counts.total()
    duplicates = sum(n for (*_, is_duplicate), n in counts.items() if is_duplicate)
    of = f"newest {MAX_MEMORIES:,}" if total >= MAX_MEMORIES else f"last {WEEKS} weeks"
    return Chart(
        title="Memories stored",
        labels=_labels(),
        series=_series(
            MEMORY_TYPES,
            counts,
            lambda week, name: list_urls.admin_list(
                "memories_memory",
                project,
                memory_type=name,
                **list_urls.week_filter("created_at", week, week),
            ),
        ),
        note=f"Duplicates in the {of}: {describe_share(duplicates, total)}"
        if total
        else "",
        empty=f"No memory was stored in the last {WEEKS} weeks.",
    )


def playbook_growth(project: Project, caller: Caller) -> Chart:
    start = _first_week().start
    rows = PlaybookChange.objects.visible_to(caller).filter(
        project_id=project.pk,
        pk__gte=lowest_id_at(start),
        changed_at__gte=start,
        operation__in=list(OPERATIONS),
    )
    return Chart(
        title="Entries of the playbook",
        labels=_labels(),
        series=_series(
            OPERATIONS,
            _count_by_week(rows, "changed_at", "operation"),
            lambda week, name: list_urls.admin_list(
                "playbook_playbookchange",
                project,
                operation=name,
                **list_urls.week_filter("changed_at", week, week),
            ),
        ),
        empty=f"No entry was added or removed in the last {WEEKS} weeks.",
    )


def success(project: Project, caller: Caller) -> Chart:
    """Compare the tasks that were given entries of the playbook with the others."""
    start = _first_week().start
    runs = AceRun.objects.visible_to(caller).filter(
        project=project, pk__gte=lowest_id_at(start), created_at__gte=start
    )
    given = Exposure.objects.visible_to(caller).filter(
        project=project, run_id=OuterRef("run_id")
    )
    rows = (
        Reflection.objects.visible_to(caller)
        .filter(run__in=runs.order_by("-pk").values("pk")[:MAX_RUNS])
        .exclude(outcome="unknown")
        .annotate(given=Exists(given))
    )
    known: Counts = Counter()
    succeeded: Counts = Counter()
    for (week, is_given, outcome), n in _count_by_week(
        rows, "run__created_at", "given", "outcome"
    ).items():
        arm = "given" if is_given else "none"
        known[week, arm] += n
        succeeded[week, arm] += n if outcome == "success" else 0

    def make_point(week: Week, arm: str) -> Point:
        part, of = succeeded[week, arm], known[week, arm]
        where = list_urls.week_filter("created_at", week, week)
        url = list_urls.admin_list("ace_acerun", project, entries=arm, **where)
        return Point(percentage(part, of), describe_share(part, of), url if of else "")

    shares = [
        f"{name}: {describe_share(_sum(succeeded, arm), _sum(known, arm))}"
        for arm, (name, _) in ARMS.items()
    ]
    return Chart(
        title="Success with and without the playbook",
        labels=_labels(),
        series=_series_of_points(ARMS, make_point),
        note=" · ".join(shares) if known else "",
        empty=f"No outcome is known of the last {WEEKS} weeks' tasks.",
        is_share=True,
    )


def decisions(project: Project, caller: Caller) -> Chart:
    """Count the proposals that are neither votes nor rejected by a gate."""
    start = _first_week().start
    rows = (
        PlaybookDelta.objects.visible_to(caller)
        .filter(
            project=project,
            status__in=list(DECISIONS),
            pk__gte=lowest_id_at(start),
            created_at__gte=start,
        )
        .exclude(operation=PlaybookDelta.DeltaOperation.VOTE)
        .exclude(Q(status=PlaybookDelta.DeltaStatus.REJECTED, reviewer=""))
    )
    counts = _count_by_week(rows, "created_at", "status", "producer")

    def link(week: Week, status: str) -> str:
        if status not in (*ACCEPTED, "rejected"):
            return ""
        where = list_urls.week_filter("created_at", week, week)
        return list_urls.admin_list(
            "playbook_playbookdelta",
            project,
            status=status,
            decided_by="person",
            **where,
        )

    return Chart(
        title="Proposals and their decisions",
        labels=_labels(),
        series=_series(DECISIONS, counts, link),
        note=_acceptance(counts),
        empty=f"Nothing was proposed and decided in the last {WEEKS} weeks.",
    )


def _acceptance(counts: Counts) -> str:
    parts = []
    for producer in PlaybookDelta.Producer:
        own = Counter({key: n for key, n in counts.items() if key[2] == producer.value})
        accepted = sum(_sum(own, status) for status in ACCEPTED)
        if decided := accepted + _sum(own, "rejected"):
            parts.append(f"{producer} {describe_share(accepted, decided)}")
    return f"Accepted of what a person decided: {'; '.join(parts)}" if parts else ""


def _first_week() -> Week:
    return weeks.last_weeks(WEEKS)[0]


def _labels() -> list[str]:
    return [str(week)[5:] for week in weeks.last_weeks(WEEKS)]


def _count_by_week(rows: QuerySet[Any], moment: str, *columns: str) -> Counts:
    """Count rows by the week of `moment` and by the columns."""
    counted = (
        rows.order_by()
        .annotate(week=TruncWeek(moment))
        .values_list("week", *columns)
        .annotate(n=Count("*"))
    )
    return Counter({(weeks.week_of(at), *key): n for at, *key, n in counted})


def _sum(counts: Counts, key: str, week: Week | None = None) -> int:
    """Add the counts of a key, which follows the week: of one week, or of all."""
    return sum(
        n for (at, name, *_), n in counts.items() if name == key and week in (None, at)
    )


def _series(
    labels: Labels, counts: Counts, link: Callable[[Week, str], str]
) -> list[Series]:
    def make_point(week: Week, key: str) -> Point:
        count = _sum(counts, key, week)
        return Point(count, url=link(week, key) if count else "")

    return _series_of_points(labels, make_point)


def _series_of_points(
    labels: Labels, make_point: Callable[[Week, str], Point]
) -> list[Series]:
    shown: Iterable[Week] = weeks.last_weeks(WEEKS)
    return [
        Series(name, colour, [make_point(week, key) for week in shown])
        for key, (name, colour) in labels.items()
    ]

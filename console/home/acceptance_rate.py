"""Count the proposals of each producer that were accepted, rejected or reverted."""

from __future__ import annotations

from collections import Counter

from django.db.models import Count, Q

from common.caller import Caller
from common.ids import lowest_id_at
from console import list_urls, weeks
from console.home.charts import Chart, Point, Series, describe_share
from playbook.models import PlaybookDelta
from projects.models import Project

WEEKS = 12
DELTA = "playbook_playbookdelta"
PRODUCERS = PlaybookDelta.Producer
# Each status and its colour. A person decided the first four; the policy applied the
# last.
STATUSES = {
    "accepted": "#16a34a",
    "edited": "#84cc16",
    "rejected": "#ef4444",
    "reverted": "#f59e0b",
    "applied": "#94a3b8",
}
ACCEPTED_STATUSES = ("accepted", "edited")
DECIDED_STATUSES = (*ACCEPTED_STATUSES, "rejected")

Counts = Counter[tuple[str, str]]


def chart(project: Project, caller: Caller) -> Chart:
    since = weeks.last_weeks(WEEKS)[0]
    counts = _counts(project, caller, since)
    return Chart(
        title="Proposals by producer",
        axis_title="Producer",
        labels=[producer.label.capitalize() for producer in PRODUCERS],
        series=[
            Series(
                status.capitalize(),
                colour,
                [_point(project, since, p, status, counts) for p in PRODUCERS],
            )
            for status, colour in STATUSES.items()
        ],
        note=_note(counts),
        empty=f"Nothing was proposed and decided in the last {WEEKS} weeks.",
    )


def _counts(project: Project, caller: Caller, since: weeks.Week) -> Counts:
    """Count the proposals that are neither votes nor rejected by a gate."""
    rows = (
        PlaybookDelta.objects.visible_to(caller)
        .filter(
            project=project,
            status__in=list(STATUSES),
            pk__gte=lowest_id_at(since.start),
            created_at__gte=since.start,
        )
        .exclude(operation=PlaybookDelta.DeltaOperation.VOTE)
        .exclude(Q(status=PlaybookDelta.DeltaStatus.REJECTED, reviewer=""))
        .order_by()
        .values_list("producer", "status")
        .annotate(n=Count("pk"))
    )
    return Counter({(producer, status): n for producer, status, n in rows})


def _point(
    project: Project, since: weeks.Week, producer: str, status: str, counts: Counts
) -> Point:
    count = counts[producer, status]
    where = {"producer": producer, "status": status, "decided_by": "person"}
    url = list_urls.admin_list(DELTA, project, **where, created_at_from=since.monday)
    return Point(count, url=url if count and status in DECIDED_STATUSES else "")


def _note(counts: Counts) -> str:
    parts = []
    for producer in PRODUCERS:
        accepted = sum(counts[producer, status] for status in ACCEPTED_STATUSES)
        if decided := sum(counts[producer, status] for status in DECIDED_STATUSES):
            parts.append(f"{producer} {describe_share(accepted, decided)}")
    return f"Accepted of what a person decided: {'; '.join(parts)}" if parts else ""

"""The figures at the top of the page. Each links to the rows that it counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min
from django.utils import timezone

from ace.models import AceRun
from common.admin.paginator import COUNT_LIMIT, count_bounded, format_count
from common.caller import Caller
from common.ids import lowest_id_at
from console import list_urls, weeks
from jobs.models import Job
from memories.models import Memory, PossibleDuplicate
from playbook.models import Playbook, PlaybookDelta, PlaybookEntry
from projects.models import Project


@dataclass(frozen=True)
class KeyFigure:
    """One figure at the top of the page.

    A bar shows `part` as a share of `whole`.
    """

    title: str
    figure: str
    url: str
    note: str = ""
    part: int = 0
    whole: int = 0


def build(project: Project, caller: Caller) -> Iterable[KeyFigure]:
    yield _waiting_changes(project, caller)
    duplicates = _count(PossibleDuplicate, project, caller, state="open")
    url = list_urls.inbox_list(project, "duplicates")
    yield KeyFigure("Possible duplicates", duplicates, url)
    failed_jobs = _count(Job, project, caller, state="failed")
    url = list_urls.admin_list("jobs_job", project, state="failed")
    yield KeyFigure("Failed jobs", failed_jobs, url)
    yield _memory_count(project, caller)
    yield _playbook_tokens(project, caller)
    yield _due_entries(project, caller)
    yield _runs_this_week(project, caller)


def _count(model: Any, project: Project, caller: Caller, **where: Any) -> str:
    rows = model.objects.visible_to(caller).filter(project_id=project.pk, **where)
    return format_count(count_bounded(rows))


def _waiting_changes(project: Project, caller: Caller) -> KeyFigure:
    waiting = PlaybookDelta.objects.visible_to(caller).filter(project=project).pending()
    queue = waiting.order_by("pk")[: COUNT_LIMIT + 1].aggregate(
        n=Count("pk"), oldest=Min("created_at")
    )
    oldest: datetime | None = queue["oldest"]
    age = timezone.now() - oldest if oldest else timedelta()
    return KeyFigure(
        "Waiting changes",
        format_count(queue["n"]),
        list_urls.inbox_list(project),
        note=f"the oldest for {format_age(age)}" if oldest else "nothing to decide",
    )


def _memory_count(project: Project, caller: Caller) -> KeyFigure:
    rows = Memory.objects.visible_to(caller).current().filter(project=project)
    url = list_urls.admin_list("memories_memory", project, state="current")
    return KeyFigure("Memories", format_count(count_bounded(rows)), url, note="current")


def _playbook_tokens(project: Project, caller: Caller) -> KeyFigure:
    rows = Playbook.objects.visible_to(caller).filter(project=project)
    tokens = rows.values_list("tokens", flat=True).first() or 0
    budget = project.options.budgets.playbook_tokens
    return KeyFigure(
        "Tokens of the playbook",
        f"{tokens:,}",
        list_urls.admin_list("playbook_playbookentry", project, status="active"),
        note=f"of {budget:,}",
        part=tokens,
        whole=budget,
    )


def _due_entries(project: Project, caller: Caller) -> KeyFigure:
    entries = PlaybookEntry.objects.visible_to(caller).current().filter(project=project)
    count = count_bounded(entries.filter(review_after__lt=timezone.now()))
    url = list_urls.admin_list(
        "playbook_playbookentry", project, status="active", freshness="due"
    )
    return KeyFigure("Entries due for review", format_count(count), url)


def _runs_this_week(project: Project, caller: Caller) -> KeyFigure:
    week = weeks.last_weeks(1)[0]
    runs = AceRun.objects.visible_to(caller).filter(
        project=project, pk__gte=lowest_id_at(week.start), created_at__gte=week.start
    )
    url = list_urls.admin_list("ace_acerun", project, created_at_from=week.monday)
    return KeyFigure("Runs this week", format_count(count_bounded(runs)), url)


def format_age(age: timedelta) -> str:
    hours = age // timedelta(hours=1)
    if hours < 1:
        return f"{age // timedelta(minutes=1)} min"
    return f"{hours} h" if hours < 48 else f"{hours // 24} days"

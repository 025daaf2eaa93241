"""The numbers on top of the page, each a link to the rows that it counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min
from django.utils import timezone

from ace.models import AceRun
from common.admin import MOST_COUNTED, counted, in_words
from common.caller import Caller
from common.ids import first_at
from console import lists, weeks
from jobs.models import Job
from memories.models import Memory, PossibleDuplicate
from playbook.models import Conflict, Playbook, PlaybookDelta, PlaybookEntry
from projects.models import Project


@dataclass(frozen=True)
class Card:
    """`part` of `whole` is drawn as a bar; `alarms` asks for attention."""

    title: str
    figure: str
    url: str
    note: str = ""
    part: int = 0
    whole: int = 0
    alarms: bool = False


def of(project: Project, caller: Caller) -> Iterable[Card]:
    yield _queue(project, caller)
    yield _counted(
        "Open conflicts", Conflict, project, caller, "playbook_conflict", state="open"
    )
    yield _counted(
        "Possible duplicates",
        PossibleDuplicate,
        project,
        caller,
        "memories_possibleduplicate",
        state="open",
    )
    yield _counted("Failed jobs", Job, project, caller, "jobs_job", state="failed")
    yield _memories(project, caller)
    yield _playbook(project, caller)
    yield _due(project, caller)
    yield _runs(project, caller)


def _counted(
    title: str, model: Any, project: Project, caller: Caller, name: str, **where: Any
) -> Card:
    rows = model.objects.visible_to(caller).filter(project_id=project.pk, **where)
    count = counted(rows)
    return Card(title, in_words(count), lists.of(name, project, **where))


def _queue(project: Project, caller: Caller) -> Card:
    waiting = PlaybookDelta.objects.visible_to(caller).filter(project=project).waiting()
    found = waiting.order_by("pk")[: MOST_COUNTED + 1].aggregate(
        n=Count("pk"), oldest=Min("created_at")
    )
    limit = project.options.review.alarm_hours
    oldest: datetime | None = found["oldest"]
    age = timezone.now() - oldest if oldest else timedelta()
    return Card(
        "Waiting changes",
        in_words(found["n"]),
        lists.inbox(project),
        note=f"the oldest for {in_time(age)}" if oldest else "nothing to decide",
        alarms=limit is not None and age > timedelta(hours=limit),
    )


def _memories(project: Project, caller: Caller) -> Card:
    rows = Memory.objects.visible_to(caller).current().filter(project=project)
    url = lists.of("memories_memory", project, state="current")
    return Card("Memories", in_words(counted(rows)), url, note="current")


def _playbook(project: Project, caller: Caller) -> Card:
    rows = Playbook.objects.visible_to(caller).filter(project=project)
    tokens = rows.values_list("tokens", flat=True).first() or 0
    budget = project.options.budgets.playbook_tokens
    return Card(
        "Tokens of the playbook",
        f"{tokens:,}",
        lists.of("playbook_playbookentry", project, status="active"),
        note=f"of {budget:,}",
        part=tokens,
        whole=budget,
    )


def _due(project: Project, caller: Caller) -> Card:
    entries = PlaybookEntry.objects.visible_to(caller).current().filter(project=project)
    count = counted(entries.filter(review_after__lt=timezone.now()))
    url = lists.of("playbook_playbookentry", project, status="active", freshness="due")
    return Card("Entries due for review", in_words(count), url)


def _runs(project: Project, caller: Caller) -> Card:
    week = weeks.last(1)[0]
    runs = AceRun.objects.visible_to(caller).filter(
        project=project, pk__gte=first_at(week.start), created_at__gte=week.start
    )
    url = lists.of("ace_acerun", project, created_at_from=week.monday)
    return Card("Runs this week", in_words(counted(runs)), url)


def in_time(age: timedelta) -> str:
    hours = age // timedelta(hours=1)
    if hours < 1:
        return f"{age // timedelta(minutes=1)} min"
    return f"{hours} h" if hours < 48 else f"{hours // 24} days"

"""What agents were given, and which of their finished tasks it was given for.

Observed, not replayed: an exposure moves no counter and is in no revision.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from common.caller import Caller
from common.db import delete_in_batches, write
from playbook.models import Exposure, PlaybookEntry
from projects.models import Project

Source = Exposure.ExposureSource
# What was given longer ago was for something else.
CREDIT_WINDOW = timedelta(hours=24)
# What no task was credited with is kept this long: docs/limits.md
RETENTION = timedelta(days=90)


@dataclass(frozen=True)
class EntryUse:
    """How often an entry was given to agents, and how often a task said it used it."""

    times_given: int
    times_cited: int
    last_given_at: datetime | None
    last_cited_at: datetime | None


@dataclass(frozen=True)
class FinishedTask:
    """A finished task; `given` and `cited` are the entries that its request names."""

    run_id: uuid.UUID
    project: Project
    agent_id: str
    key_id: uuid.UUID | None
    at: datetime
    given_entries: Collection[uuid.UUID]
    cited_entries: Collection[uuid.UUID]


def resolve_agent(caller: Caller, agent_id: str) -> str:
    """The agent that something is given to; empty when nobody said which."""
    return caller.agent_id_for(agent_id) if agent_id else caller.agent_id


def record(
    project: Project,
    relevance: Mapping[uuid.UUID, float | None],
    caller: Caller,
    *,
    source: Exposure.ExposureSource,
    agent_id: str = "",
) -> None:
    """Keep which entries a key was given, each with its cosine to the task.

    A person who looks is no agent: without a key nothing is kept.
    """
    if caller.key_id is None:
        return
    Exposure.objects.bulk_create(
        Exposure(
            project=project,
            entry_id=entry_id,
            agent_id=agent_id,
            key_id=caller.key_id,
            source=source,
            relevance=similarity,
        )
        for entry_id, similarity in relevance.items()
    )


@write
def credit(task: FinishedTask) -> None:
    """Link a finished task to what its agent was given for it; once, however often.

    What is given several times before a task counts as given once, the last time. What
    the agent reports and nothing recorded becomes an exposure of its own.
    """
    of_run = Exposure.objects.filter(project=task.project, run_id=task.run_id)
    if task.key_id:
        waiting = _uncredited(task)
        newest = (
            waiting.exclude(entry__in=of_run.values("entry"))
            .order_by("entry_id", "-id")
            .distinct("entry_id")
        )
        waiting.filter(pk__in=newest.values("pk")).update(run_id=task.run_id)
        waiting.filter(entry__in=of_run.values("entry")).delete()
    linked = set(of_run.values_list("entry_id", flat=True))
    reported = {*task.given_entries, *task.cited_entries} - linked
    Exposure.objects.bulk_create(
        (_reported_exposure(task, entry_id) for entry_id in sorted(reported)),
        ignore_conflicts=True,
    )
    if task.cited_entries:
        of_run.filter(entry__in=task.cited_entries).update(was_cited=True)


def _uncredited(task: FinishedTask) -> QuerySet[Exposure]:
    """What the agent was given before the task ended, and no task has been linked to.

    What was given without a word of the agent counts for whichever used the key next.
    """
    return Exposure.objects.filter(
        project=task.project,
        run_id=None,
        key_id=task.key_id,
        agent_id__in=[task.agent_id, ""],
        at__gt=task.at - CREDIT_WINDOW,
        at__lte=task.at,
    )


def _reported_exposure(task: FinishedTask, entry_id: uuid.UUID) -> Exposure:
    return Exposure(
        project=task.project,
        entry_id=entry_id,
        run_id=task.run_id,
        agent_id=task.agent_id,
        key_id=task.key_id,
        source=Source.REPORTED,
    )


def count_use(entry: PlaybookEntry) -> EntryUse:
    cited = Q(was_cited=True)
    found = entry.exposures.aggregate(
        times_given=Count("pk"),
        times_cited=Count("pk", filter=cited),
        last_given_at=Max("at"),
        last_cited_at=Max("at", filter=cited),
    )
    return EntryUse(**found)


def delete_old() -> None:
    """Delete what was given long ago and never credited."""
    delete_in_batches(
        Exposure.objects.filter(run_id=None, at__lt=timezone.now() - RETENTION)
    )

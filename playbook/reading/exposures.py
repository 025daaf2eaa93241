"""Exposures: entries that agents got, and the finished tasks credited with them.

An exposure changes no counter, and no revision records an exposure.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from common.caller import Caller
from common.db import delete_in_batches, write
from common.text import code_advice, literals
from memories.models import GivenUse
from memories.read.exposures import (
    RETENTION,
    CreditedTask,
    credit_newest,
)
from playbook.models import Exposure, PlaybookEntry
from playbook.reading import withholding
from playbook.rule_text.applicability import Surroundings, find_match, names_of
from projects.models import Project

Source = Exposure.ExposureSource


@dataclass(frozen=True)
class EntryUse:
    """How often agents got an entry, cited it, and used it in any way."""

    times_given: int
    times_cited: int
    times_used: int
    last_given_at: datetime | None
    last_cited_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class FinishedTask(CreditedTask):
    """A finished task, with the entries that its request names as given and as cited."""

    given_entries: Collection[uuid.UUID]
    cited_entries: Collection[uuid.UUID]


def resolve_agent(caller: Caller, agent_id: str) -> str:
    """Return the id of the agent that gets the entries.

    Return an empty string if the agent is unknown.
    """
    return caller.agent_id_for(agent_id) if agent_id else caller.agent_id


def record(
    project: Project,
    relevance: Mapping[uuid.UUID, float | None],
    caller: Caller,
    *,
    source: Exposure.ExposureSource,
    agent_id: str = "",
    session: str = "",
    withheld: Collection[uuid.UUID] = (),
) -> None:
    """Record the entries that a key got, with the cosine of each entry to the task.

    Those that were withheld from the session are recorded as such. Without a key the caller is a person, and nothing is recorded.
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
            request_id=caller.request_id[:64],
            session=withholding.digest_of(session),
            is_withheld=entry_id in withheld,
        )
        for entry_id, similarity in relevance.items()
    )


@write
def credit(task: FinishedTask) -> None:
    """Credit a finished task with the exposures of its agent.

    The function may be called again for the same task. If an entry was exposed several
    times, the last exposure counts. If the agent reports an entry that has no recorded
    exposure, the exposure is created.
    """
    of_run = Exposure.objects.filter(project=task.project, run_id=task.run_id)
    if task.key_id:
        rows = Exposure.objects.given().filter(project=task.project)
        credit_newest(rows, "entry_id", task)
    credited = set(of_run.values_list("entry_id", flat=True))
    reported = {*task.given_entries, *task.cited_entries} - credited
    Exposure.objects.bulk_create(
        (_reported_exposure(task, entry_id) for entry_id in sorted(reported)),
        ignore_conflicts=True,
    )
    if task.cited_entries:
        of_run.filter(entry__in=task.cited_entries).update(was_cited=True)
    if credited or reported:
        _note_uses(of_run, task)


def _note_uses(of_run: QuerySet[Exposure], task: FinishedTask) -> None:
    """Say of each exposure how the task used the entry, if it did."""
    rows = list(of_run.filter(used_as="").select_related("entry"))
    for row in rows:
        row.used_as = find_use(row, task)
    Exposure.objects.bulk_update([row for row in rows if row.used_as], ["used_as"])


def find_use(row: Exposure, task: FinishedTask) -> str:
    """Return how a task used an entry: cited, same command, same file, or "" for not.

    A file counts only where the rule recommends no command.
    """
    if row.was_cited:
        return GivenUse.CITED
    entry = row.entry
    tools = {name.lower() for name in names_of(entry.applies_to, "tool")}
    if code_advice.is_followed(entry.content, task.calls, tools):
        return GivenUse.COMMAND
    if code_advice.names_form(entry.content):
        return ""
    globs = [f"path:{name}" for name in names_of(entry.applies_to, "path")]
    globs += [f"path:{path}" for path in literals.find_paths(entry.content)]
    is_near = find_match(globs, Surroundings(paths=tuple(task.paths)))
    return GivenUse.FILE if is_near else ""


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
    is_cited = Q(was_cited=True)
    found = entry.exposures.filter(is_withheld=False).aggregate(
        times_given=Count("pk"),
        times_cited=Count("pk", filter=is_cited),
        times_used=Count("pk", filter=is_cited | ~Q(used_as="")),
        last_given_at=Max("at"),
        last_cited_at=Max("at", filter=is_cited),
    )
    return EntryUse(**found)


def delete_old() -> None:
    """Delete old exposures that are not credited to a task."""
    delete_in_batches(
        Exposure.objects.filter(run_id=None, at__lt=timezone.now() - RETENTION)
    )

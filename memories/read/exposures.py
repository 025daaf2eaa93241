"""Exposures of memories: what agents got, and how the task that followed used it.

An exposure changes no memory. The exposures of rules are in `playbook.reading.exposures`.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from access.models import ApiKey
from common.caller import Caller
from common.db import delete_in_batches, write
from common.text import code_advice
from memories.models import GivenUse, MemoryExposure, MemoryFile
from projects.models import Project

# Exposures older than this are not credited to a task.
CREDIT_WINDOW = timedelta(hours=24)
# How long exposures without a task are kept (docs/limits.md).
RETENTION = timedelta(days=90)


@dataclass(frozen=True, kw_only=True)
class CreditedTask:
    """A finished task to which exposures of its agent are credited.

    `calls` are its shell commands and the tools that it called, with their arguments, `paths`
    the files that it touched, and `result` its last words.
    """

    run_id: uuid.UUID
    project: Project
    agent_id: str
    key_id: uuid.UUID | None
    at: datetime
    calls: Collection[str] = ()
    paths: Collection[str] = ()
    result: str = ""


def record(
    project: Project, memories: Iterable[uuid.UUID], caller: Caller, *, agent_id: str
) -> None:
    """Record the memories that a key got; without a key the caller is a person."""
    if caller.key_id is None:
        return
    MemoryExposure.objects.bulk_create(
        MemoryExposure(
            project=project,
            memory_id=memory_id,
            agent_id=agent_id,
            key_id=caller.key_id,
            request_id=caller.request_id[:64],
        )
        for memory_id in dict.fromkeys(memories)
    )


@write
def credit(task: CreditedTask) -> None:
    """Credit a finished task with the memories that its agent got before.

    Of several exposures of a memory the last counts, and the others are deleted. A second
    call for the same task changes nothing.
    """
    if not task.key_id:
        return
    rows = MemoryExposure.objects.filter(project=task.project)
    if credit_newest(rows, "memory_id", task):
        _note_uses(rows.filter(run_id=task.run_id), task)


def credit_newest(rows: QuerySet[Any], subject: str, task: CreditedTask) -> int:
    """Credit a task with the newest exposure of each subject, and delete the other ones.

    `rows` are the exposures of the task's project, of memories or of rules, and `subject` is
    the column of what was given. What the task is credited with already stays. Return the
    number of exposures that are newly credited.
    """
    given = rows.filter(run_id=task.run_id).values(subject)
    uncredited = _uncredited_rows(rows, task)
    newest = (
        uncredited.exclude(**{f"{subject}__in": given})
        .order_by(subject, "-id")
        .distinct(subject)
    )
    # The filter is in the update, so that a row of another task that ends now is left alone.
    credited = uncredited.filter(pk__in=newest.values("pk")).update(run_id=task.run_id)
    if credited:
        uncredited.filter(**{f"{subject}__in": given}).delete()
    return credited


def _note_uses(of_run: QuerySet[MemoryExposure], task: CreditedTask) -> None:
    """Say of each exposure how the task used the memory, if it did."""
    paths = _paths_of(of_run)
    by_use: defaultdict[str, list[uuid.UUID]] = defaultdict(list)
    rows = of_run.values_list("pk", "memory_id", "memory__lessons", "memory__content")
    for pk, memory_id, lessons, content in rows:
        by_use[
            find_use(memory_id, lessons or content, paths.get(memory_id, ()), task)
        ].append(pk)
    for use, ids in by_use.items():
        if use:
            of_run.filter(pk__in=ids).update(used_as=use)


def find_use(
    memory_id: uuid.UUID, content: str, paths: Collection[str], task: CreditedTask
) -> str:
    """Return how a task used a memory: cited, same command, same file, or "" for not.

    A file counts only where the text recommends no command.
    """
    if str(memory_id) in task.result:
        return GivenUse.CITED
    if code_advice.is_followed(content, task.calls):
        return GivenUse.COMMAND
    is_near = bool(set(paths) & set(task.paths))
    return GivenUse.FILE if is_near and not code_advice.names_form(content) else ""


def _paths_of(exposures: QuerySet[MemoryExposure]) -> Mapping[uuid.UUID, list[str]]:
    """Return the paths of the files of each memory."""
    links = MemoryFile.objects.filter(memory__in=exposures.values("memory"))
    found: defaultdict[uuid.UUID, list[str]] = defaultdict(list)
    for memory_id, path in links.values_list("memory_id", "file__file_path"):
        found[memory_id].append(path)
    return found


def _uncredited_rows(rows: QuerySet[Any], task: CreditedTask) -> QuerySet[Any]:
    """Select what the agent got before the end of the task and no task is credited with.

    Exposures without an agent are credited to the next agent that uses the key.
    """
    line = ApiKey.objects.of_same_line(task.key_id)
    return rows.filter(
        Q(key_id=task.key_id) | Q(key_id__in=line.values("pk")),
        run_id=None,
        agent_id__in=[task.agent_id, ""],
        at__gt=task.at - CREDIT_WINDOW,
        at__lte=task.at,
    )


def delete_old() -> None:
    """Delete old exposures that are not credited to a task."""
    delete_in_batches(
        MemoryExposure.objects.filter(run_id=None, at__lt=timezone.now() - RETENTION)
    )

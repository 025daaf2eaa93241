"""Exposures of memories: what agents got, and how the task that followed used it.

An exposure changes no memory. The exposures of rules are in `playbook.reading.exposures`.
"""

from __future__ import annotations

import re
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from access.models import ApiKey
from common.caller import Caller
from common.db import delete_in_batches, write
from memories.models import GivenUse, Memory, MemoryExposure, MemoryFile
from projects.models import Project

# Exposures older than this are not credited to a task.
CREDIT_WINDOW = timedelta(hours=24)
# How long exposures without a task are kept (docs/limits.md).
RETENTION = timedelta(days=90)
_CODE = re.compile(r"`([^`\n]{2,200})`")


@dataclass(frozen=True, kw_only=True)
class CreditedTask:
    """A finished task to which exposures of its agent are credited.

    `commands` are the shell commands and the names of the tools that it called, `paths` the
    files that it touched, and `result` its last words.
    """

    run_id: uuid.UUID
    project: Project
    agent_id: str
    key_id: uuid.UUID | None
    at: datetime
    commands: Collection[str] = ()
    paths: Collection[str] = ()
    result: str = ""


@dataclass(frozen=True)
class MemoryUse:
    """How often agents got a memory, and how often a task used it."""

    times_given: int
    times_used: int
    last_given_at: datetime | None


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
    newest: dict[uuid.UUID, MemoryExposure] = {}
    for row in _uncredited_rows(task).select_related("memory").order_by("-pk"):
        newest.setdefault(row.memory_id, row)
    if not newest:
        return
    paths = _paths_of(newest)
    for row in newest.values():
        row.run_id = task.run_id
        row.used_as = find_use(row.memory, paths[row.memory_id], task)
    kept = [row.pk for row in newest.values()]
    _uncredited_rows(task).filter(memory__in=newest).exclude(pk__in=kept).delete()
    MemoryExposure.objects.bulk_update(newest.values(), ["run_id", "used_as"])


def find_use(memory: Memory, paths: Collection[str], task: CreditedTask) -> str:
    """Return how a task used a memory: cited, same command, same file, or "" for not."""
    if str(memory.pk) in task.result:
        return GivenUse.CITED
    if runs_any(task.commands, find_code(memory.content)):
        return GivenUse.COMMAND
    return GivenUse.FILE if set(paths) & set(task.paths) else ""


def find_code(text: str) -> set[str]:
    """Return what a text has in backticks, in lower case."""
    return {" ".join(code.split()).lower() for code in _CODE.findall(text)}


def runs_any(commands: Iterable[str], names: Collection[str]) -> bool:
    """Whether a command has one of the names or commands as whole words."""
    wanted = [f" {name} " for name in names if len(name) > 1]
    folded = (f" {' '.join(command.lower().split())} " for command in commands)
    return any(name in command for command in folded for name in wanted)


def _paths_of(memories: Collection[uuid.UUID]) -> defaultdict[uuid.UUID, list[str]]:
    links = MemoryFile.objects.filter(memory__in=memories)
    found: defaultdict[uuid.UUID, list[str]] = defaultdict(list)
    for memory_id, path in links.values_list("memory_id", "file__file_path"):
        found[memory_id].append(path)
    return found


def _uncredited_rows(task: CreditedTask) -> QuerySet[MemoryExposure]:
    """Select what the agent got before the end of the task and no task is credited with.

    Exposures without an agent are credited to the next agent that uses the key. A memory
    that the task is credited with already is left out.
    """
    line = ApiKey.objects.of_same_line(task.key_id)
    of_run = MemoryExposure.objects.filter(run_id=task.run_id)
    return MemoryExposure.objects.filter(
        Q(key_id=task.key_id) | Q(key_id__in=line.values("pk")),
        project=task.project,
        run_id=None,
        agent_id__in=[task.agent_id, ""],
        at__gt=task.at - CREDIT_WINDOW,
        at__lte=task.at,
    ).exclude(memory__in=of_run.values("memory"))


def count_use(memory: Memory) -> MemoryUse:
    rows = MemoryExposure.objects.filter(memory=memory)
    found = rows.aggregate(
        times_given=Count("pk"),
        times_used=Count("pk", filter=~Q(used_as="")),
        last_given_at=Max("at"),
    )
    return MemoryUse(**found)


def delete_old() -> None:
    """Delete old exposures that are not credited to a task."""
    delete_in_batches(
        MemoryExposure.objects.filter(run_id=None, at__lt=timezone.now() - RETENTION)
    )

"""What an agent should know before a task: REQ-MEM-API-005."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from common import text
from common.caller import Caller, Role
from inference import tokens
from memories import recall
from memories.models import File
from playbook import reading
from playbook.models import PlaybookEntry
from projects.models import Project

T = TypeVar("T")

# A file that a memory changed says more of where the work is than one it read.
RELATION_WEIGHT = {
    "modified": 1.0,
    "created": 1.0,
    "deleted": 0.6,
    "read": 0.5,
    "referenced": 0.5,
}


@dataclass(frozen=True)
class RecommendedFile:
    """A file to look at, with the memories that point to it; score in 0..1."""

    file_path: str
    score: float
    memory_ids: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Rule:
    """A playbook entry and how well it fits the task, 0..1."""

    entry: PlaybookEntry
    score: float


@dataclass(frozen=True)
class TaskContext:
    memories: list[recall.Hit]
    entries: list[Rule]
    files: list[RecommendedFile]
    tokens: int
    omitted: int
    notes: tuple[str, ...] = ()


def for_task(
    project: Project,
    description: str,
    caller: Caller,
    *,
    top_k: int = 5,
    token_budget: int | None = None,
) -> TaskContext:
    """The best memories, entries and files for a task, inside a token budget.

    Entries come first: they are shorter and were checked. What does not fit is left
    out whole, never cut.
    """
    caller.require(Role.VIEWER, project.pk)
    found = recall.search(project, recall.Request(description, limit=top_k), caller)
    entries = rules(project, description, caller, limit=top_k)
    budget = math.inf if token_budget is None else token_budget
    kept_entries, spent = _within(budget, 0, entries, lambda hit: hit.entry.content)
    kept, spent = _within(budget, spent, found.hits, lambda hit: hit.memory.content)
    omitted = len(entries) + len(found.hits) - len(kept_entries) - len(kept)
    return TaskContext(
        memories=kept,
        entries=kept_entries,
        files=recommended(project, description, found.hits, caller, limit=top_k),
        tokens=spent,
        omitted=omitted,
        notes=found.notes,
    )


def rules(
    project: Project, description: str, caller: Caller, *, limit: int
) -> list[Rule]:
    """The active entries that fit a task best."""
    rows = reading.entries(project, reading.Filters(), caller)
    best = reading.rank(project, rows, description).hits[:limit]
    entries = reading.in_full(rows, caller).in_bulk([hit.id for hit in best])
    return [Rule(entries[hit.id], hit.score) for hit in best if hit.id in entries]


def _within(
    budget: float, spent: int, items: Iterable[T], text_of: Callable[[T], str]
) -> tuple[list[T], int]:
    kept: list[T] = []
    for item in items:
        cost = tokens.estimate(text_of(item))
        if spent + cost <= budget:
            kept.append(item)
            spent += cost
    return kept, spent


def recommended(
    project: Project,
    description: str,
    hits: Iterable[recall.Hit],
    caller: Caller,
    *,
    limit: int,
) -> list[RecommendedFile]:
    """Files that the description names, then those that the best memories touched."""
    scores: dict[str, float] = defaultdict(float)
    sources: dict[str, list[str]] = defaultdict(list)
    for hit in hits:
        for link in hit.memory.file_links.all():
            path = link.file.file_path
            scores[path] += hit.score * RELATION_WEIGHT[link.relation_type]
            sources[path].append(str(hit.memory.pk))
    named = _named(project, description, caller)
    most = max(scores.values(), default=0.0) or 1.0
    ranked = [RecommendedFile(path, 1.0, (), "named in the task") for path in named]
    ranked += [
        RecommendedFile(
            path,
            round(scores[path] / most, 4),
            tuple(dict.fromkeys(sources[path])),
            "touched by the memories above",
        )
        for path in sorted(scores, key=lambda path: (-scores[path], path))
        if path not in named
    ]
    return ranked[:limit]


def _named(project: Project, description: str, caller: Caller) -> list[str]:
    wanted = {word.lstrip("./") for word in text.identifiers(description)}
    files = File.objects.visible_to(caller).filter(project=project)
    found = files.filter(file_path__in=wanted).order_by("file_path")
    return list(found.values_list("file_path", flat=True))

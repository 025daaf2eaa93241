"""Find the memories that a request of mem0 asks for, among those that the caller may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from common import errors
from common.caller import Caller
from mcp_server.mem0.filter_tree import FilterGroup, build_query, find_scope
from memories.lifecycle import lookup
from memories.models import Memory, MemoryChange
from memories.queries import DEFAULT_SENSITIVITIES, MemoryQuerySet
from memories.read import hydrate
from memories.read.search import MemorySearch, rank_rows
from projects.models import Project
from projects.project_lookup import parse_id
from search.search import Mode

MAX_CHANGES = 100  # of a history: the newest ones
MAX_NAMED = 20  # missing ids that a refusal names


@dataclass(frozen=True)
class ScoredMemory:
    memory: Memory
    score: float


@dataclass(frozen=True)
class RankedMemories:
    """The memories, best first, and what the ranking could not do."""

    hits: Sequence[ScoredMemory]
    notes: Sequence[str]


@dataclass(frozen=True)
class FilteredSearch:
    """A query, and the filter of the memories that it ranks."""

    query: str
    filters: FilterGroup
    limit: int
    min_score: float = 0.0
    mode: Mode = "hybrid"


def find_matching(
    project: Project, filters: FilterGroup, caller: Caller
) -> MemoryQuerySet:
    """Return the current memories that match, without the sensitive ones."""
    visible = Memory.objects.visible_to(caller, project).current()
    rows = visible.filter(sensitivity__in=DEFAULT_SENSITIVITIES)
    if scope := find_scope(filters, caller):
        rows = rows.in_scope(scope)
    matching: MemoryQuerySet = rows.filter(build_query(filters, caller))
    return matching


def search(project: Project, request: FilteredSearch, caller: Caller) -> RankedMemories:
    """Rank the memories that match."""
    rows = find_matching(project, request.filters, caller)
    ranking = rank_rows(
        project,
        rows,
        MemorySearch(request.query, request.mode),
        min_hits=request.limit,
    )
    best = [hit for hit in ranking.hits if hit.score >= request.min_score]
    best = best[: request.limit]
    if ranking.rows is None:
        return RankedMemories([], ranking.notes)
    # A memory that was deleted after the ranking is not returned.
    page = hydrate.load_page(ranking.rows, [hit.id for hit in best])
    hits = [ScoredMemory(page[hit.id], hit.score) for hit in best if hit.id in page]
    return RankedMemories(hits, ranking.notes)


def find_memory(project: Project, text: str, caller: Caller) -> Memory:
    """Return the readable memory of this id; refuse with NotFound."""
    rows = Memory.objects.visible_to(caller, project).readable().light()
    return _first(rows, text)


def find_memories(project: Project, ids: Sequence[str], caller: Caller) -> list[Memory]:
    """Return the readable memories of these ids in order; refuse if one is missing."""
    rows = Memory.objects.visible_to(caller, project).readable().light()
    keys = [parse_id(each) for each in ids]
    found = rows.in_bulk([pk for pk in keys if pk])
    missing = [each for each, pk in zip(ids, keys, strict=True) if pk not in found]
    if missing:
        raise lookup.missing_error(missing[:MAX_NAMED], field="memories")
    return [found[pk] for pk in keys if pk]


def find_history(
    project: Project, text: str, caller: Caller
) -> tuple[Memory, Sequence[MemoryChange]]:
    """Return a memory, even a deleted one, and its changes, newest first."""
    memory = _first(Memory.objects.visible_to(caller, project).light(), text)
    changes = MemoryChange.objects.visible_to(caller).filter(memory_id=memory.pk)
    return memory, list(changes[:MAX_CHANGES])


def _first(rows: MemoryQuerySet, text: str) -> Memory:
    memory: Any = rows.filter(pk=parse_id(text)).first()
    if memory is None:
        detail = f"There is no memory {text[:64]!r}, or it has expired."
        raise errors.NotFound(detail, missing_ids=[text[:64]])
    found: Memory = memory
    return found

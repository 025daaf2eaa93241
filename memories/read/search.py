"""Search memories by a query."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from common.caller import Caller, Role
from inference.embedding.vector import Vector
from memories.models import Memory
from memories.queries import (
    Filters,
    MemoryQuerySet,
    find_surroundings,
)
from memories.read import explain, extracts, hydrate
from memories.read.narrow import is_narrow
from memories.read.retrieve import readable_rows
from memories.scopes import Scope
from memories.store.search_columns import CORPUS
from projects.models import Project
from search import search as row_search
from search.columns import partition_lexeme
from search.fuse import Fusion
from search.parse_query import Syntax
from search.search import LaneRank, Mode, Ranking, RankingRequest

MAX_QUERY = 10_000  # characters of a query
Cutoff = Literal["auto", "none"]


@dataclass(frozen=True)
class MemorySearch:
    """One search.

    Weights and fusion default to the settings of the project.
    """

    query: str
    mode: Mode = "hybrid"
    syntax: Syntax = "plain"
    limit: int = 10
    filters: Filters = field(default_factory=Filters)
    scope: Scope | None = None
    # Scopes that a search without a scope covers too.
    extra_scopes: tuple[Scope, ...] = ()
    min_score: float | None = None
    # With "auto", hits that do not answer the query are left out.
    cutoff: Cutoff = "none"
    fusion: Fusion | None = None
    keyword_weight: float | None = None
    semantic_weight: float | None = None
    explain: bool = False


@dataclass(frozen=True)
class MemoryHit:
    memory: Memory
    score: float
    lanes: dict[str, LaneRank]
    snippet: str
    snippet_field: str
    is_relevant: bool


@dataclass(frozen=True)
class SearchResult:
    hits: list[MemoryHit]
    mode: Mode
    took_ms: float
    notes: tuple[str, ...] = ()
    explanation: dict[str, Any] | None = None
    # Whether the project has workspaces that are read by their name only.
    leaves_workspaces_out: bool = False


def find(
    project: Project,
    request: MemorySearch,
    caller: Caller,
    vector: Future[Vector] | None = None,
) -> SearchResult:
    """Find the best memories for a query among those that the caller may read.

    If the caller called `begin_vector`, `vector` is the pending vector of the query.
    """
    caller.require(Role.VIEWER, project.pk)
    started = time.perf_counter()
    ranking_request = _build_request(project, request, min_hits=request.limit)
    reads_organization = request.scope is None or request.scope.kind == "org"
    extra = find_surroundings(project) if reads_organization else None
    pending = row_search.begin(ranking_request, Memory.objects.db, extra, vector)
    shared, has_named = pending.extra or (False, False)
    # The rows that other projects share are not counted.
    narrow = not shared and is_narrow(project, request.filters)
    ranking_request = replace(ranking_request, is_narrow=narrow)
    rows = readable_rows(
        project, request.scope, request.filters, caller, shared, request.extra_scopes
    )
    ranked = row_search.rank(
        rows, ranking_request, _partitions(project, shared), pending
    )
    least = request.min_score if request.min_score is not None else -1.0
    best = [hit for hit in ranked.hits if hit.score >= least]
    kept = [hit for hit in best if hit.is_relevant or request.cutoff == "none"]
    kept, best = kept[: request.limit], best[: request.limit]
    left_out = [hit for hit in best if hit not in kept]
    # A memory that was deleted after the ranking is not returned as a hit.
    page = (
        hydrate.load_page(ranked.rows, [hit.id for hit in kept]) if ranked.rows else {}
    )
    texts = extracts.build(
        page.values(), ranked.terms, ranking_request.language, ranked.vector
    )
    hits = [
        MemoryHit(
            page[hit.id],
            hit.score,
            dict(hit.lanes),
            texts[hit.id].html,
            texts[hit.id].field,
            hit.is_relevant,
        )
        for hit in kept
        if hit.id in page
    ]
    explanation = (
        explain.explain_search(ranking_request, ranked, rows, caller)
        if request.explain
        else None
    )
    return SearchResult(
        hits=hits,
        mode=request.mode,
        took_ms=round((time.perf_counter() - started) * 1000, 1),
        notes=(*ranked.notes, *_cutoff_notes(len(left_out), len(best))),
        explanation=explanation,
        leaves_workspaces_out=has_named and request.scope is None,
    )


def _cutoff_notes(left_out: int, found: int) -> tuple[str, ...]:
    if not left_out:
        return ()
    return (
        f"cutoff: {left_out} of {found} hits only come nearest to the query and were left "
        'out; "cutoff": "none" returns them',
    )


def rank_rows(
    project: Project,
    rows: MemoryQuerySet,
    request: MemorySearch,
    *,
    min_hits: int,
) -> Ranking:
    """Rank every candidate among these rows; the answer needs `min_hits` of them.

    The filters of the request do not apply.
    """
    ranking_request = _build_request(project, request, min_hits)
    return row_search.rank(rows, ranking_request, _partitions(project))


def _partitions(project: Project, shared: bool = True) -> list[str]:
    """Return the index partitions to search.

    With `shared`, the partitions of the organization's other projects are added.
    """
    own = [partition_lexeme("p", project.pk)]
    return [*own, partition_lexeme("o", project.organization_id)] if shared else own


def _build_request(
    project: Project, request: MemorySearch, min_hits: int
) -> RankingRequest:
    options = project.options.search
    by_keyword, by_meaning = request.keyword_weight, request.semantic_weight
    return RankingRequest(
        query=request.query,
        project_id=project.pk,
        corpus=CORPUS,
        language=options.language,
        mode=request.mode,
        syntax=request.syntax,
        fusion=request.fusion or options.fusion,
        keyword_weight=options.keyword_weight if by_keyword is None else by_keyword,
        semantic_weight=options.semantic_weight if by_meaning is None else by_meaning,
        min_hits=min_hits,
    )

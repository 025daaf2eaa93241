"""Read memories back: structured, or by a query."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Q

from common.caller import Caller, Role
from common.pagination import DEFAULT_LIMIT
from inference.embedding.vector import Vector
from memories import explaining
from memories import page as pages
from memories.explaining import Asked
from memories.indexing import CORPUS
from memories.models import Memory
from memories.queries import Filters, MemoryQuerySet, is_shared_with
from memories.scopes import Scope
from projects.models import Project
from search import search as search_search
from search import semantic, snippets
from search.columns import partition_lexeme
from search.fuse import Fusion
from search.search import LaneRank, Mode


@dataclass(frozen=True)
class Request:
    """One search. Weights and fusion of None are the project's."""

    query: str
    mode: Mode = "hybrid"
    limit: int = 10
    filters: Filters = field(default_factory=Filters)
    scope: Scope | None = None
    min_score: float | None = None
    fusion: Fusion | None = None
    keyword_weight: float | None = None
    semantic_weight: float | None = None
    # True, or the id of a memory of which it is asked why it is not in the answer.
    explain: bool | uuid.UUID = False


@dataclass(frozen=True)
class Hit:
    memory: Memory
    score: float
    lanes: dict[str, LaneRank]
    snippet: str


@dataclass(frozen=True)
class Answer:
    hits: list[Hit]
    mode: Mode
    took_ms: float
    notes: tuple[str, ...] = ()
    explanation: dict[str, Any] | None = None


def search(
    project: Project,
    request: Request,
    caller: Caller,
    vector: Future[Vector] | None = None,
) -> Answer:
    """The best memories for a query, among those the caller may read.

    `vector` is the query's, of `ranking.begin_vector`, where a door had it begun.
    """
    caller.require(Role.VIEWER, project.pk)
    started = time.perf_counter()
    question = _question(project, request, wanted=request.limit)
    beside = None if request.scope else is_shared_with(project)
    begun = search_search.begin(question, Memory.objects.db, beside, vector)
    shared = bool(begun.beside)
    rows = readable(project, request.scope, request.filters, caller, shared)
    ranked = search_search.rank(rows, question, _arms(project, shared), begun)
    least = request.min_score if request.min_score is not None else -1.0
    best = [hit for hit in ranked.hits if hit.score >= least][: request.limit]
    # What is gone since a moment ago is no hit.
    page = pages.of(ranked.rows, [hit.id for hit in best]) if ranked.rows else {}
    contents = {pk: memory.content for pk, memory in page.items()}
    texts = snippets.build(contents, ranked.terms, question.language)
    hits = [
        Hit(page[hit.id], hit.score, dict(hit.lanes), texts[hit.id])
        for hit in best
        if hit.id in page
    ]
    asked = Asked(
        project, question, request.filters, request.scope, least, request.limit, caller
    )
    return Answer(
        hits=hits,
        mode=request.mode,
        took_ms=round((time.perf_counter() - started) * 1000, 1),
        notes=ranked.notes,
        explanation=_explanation(request, asked, ranked, rows),
    )


def rank(
    project: Project, rows: MemoryQuerySet, request: Request
) -> search_search.Ranking:
    """Every candidate among these rows, best first; the request narrows no further."""
    return search_search.rank(rows, _question(project, request), _arms(project))


def readable(
    project: Project,
    scope: Scope | None,
    filters: Filters,
    caller: Caller,
    shared: bool | None = None,
) -> MemoryQuerySet:
    """The rows that a read covers, after every filter; `shared` as in `covering`."""
    is_of_one = scope is not None or shared is False
    seen = Memory.objects.visible_to(caller, project if is_of_one else None)
    rows: MemoryQuerySet = seen.covering(project, scope, shared).matching(filters)
    return rows


def _arms(project: Project, shared: bool = True) -> list[str]:
    """`shared`: the rows may hold some of the organization's other projects."""
    own = [partition_lexeme("p", project.pk)]
    return [*own, partition_lexeme("o", project.organization_id)] if shared else own


def _question(
    project: Project, request: Request, wanted: int = semantic.DEPTH
) -> search_search.RankingRequest:
    options = project.options.search
    by_keyword, by_meaning = request.keyword_weight, request.semantic_weight
    return search_search.RankingRequest(
        query=request.query,
        project_id=project.pk,
        corpus=CORPUS,
        language=options.language,
        mode=request.mode,
        fusion=request.fusion or options.fusion,
        keyword_weight=options.keyword_weight if by_keyword is None else by_keyword,
        semantic_weight=options.semantic_weight if by_meaning is None else by_meaning,
        wanted=wanted,
    )


def _explanation(
    request: Request, asked: Asked, ranked: search_search.Ranking, rows: MemoryQuerySet
) -> dict[str, Any] | None:
    if not request.explain:
        return None
    shown = explaining.of_search(asked, ranked, rows)
    if isinstance(request.explain, bool):
        return shown
    memory = explaining.find(request.explain, asked.caller)
    return {**shown, "memory": explaining.of_memory(asked, ranked, memory)}


@dataclass(frozen=True)
class Retrieval:
    """A structured read (requirement 000): no query, newest or oldest first."""

    scope: Scope | None = None
    sessions: Sequence[Scope] = ()
    filters: Filters = field(default_factory=Filters)
    since: datetime | None = None
    order: str = "newest"


def retrieve(project: Project, request: Retrieval, caller: Caller) -> MemoryQuerySet:
    """The rows of a scope, and of the named session when it is to be included."""
    caller.require(Role.VIEWER, project.pk)
    rows = readable(project, request.scope, request.filters, caller)
    for session in request.sessions:
        rows = rows | readable(project, session, request.filters, caller)
    if request.since:
        rows = rows.filter(created_at__gte=request.since)
    return rows.order_by("pk" if request.order == "oldest" else "-pk").in_full()


def limit_of(wanted: float | None) -> int:
    """Requirement 000: 20 unless a whole part above zero is asked for."""
    return math.floor(wanted) if wanted and wanted >= 1 else DEFAULT_LIMIT


def get(memory_id: uuid.UUID, caller: Caller) -> Memory | None:
    found: Memory | None = (
        Memory.objects.visible_to(caller)
        .readable()
        .in_full()
        .filter(pk=memory_id)
        .first()
    )
    return found


def lineage(memory: Memory, caller: Caller) -> dict[str, Any]:
    """The ids of what a memory came from and what came of it, as far as visible."""
    seen = Memory.objects.visible_to(caller).readable()

    def ids(*where: Q, **condition: Any) -> Sequence[str]:
        found = seen.filter(*where, **condition).order_by("pk")
        return [str(pk) for pk in found.values_list("pk", flat=True)[:100]]

    return {
        "duplicates": ids(duplicate_of=memory),
        "supersedes": ids(superseded_by=memory),
        "promoted_to": ids(promoted_from=memory.pk),
        # The index holds only those that were made of others.
        "compacted_into": ids(
            ~Q(compacted_from=[]), compacted_from__contains=[memory.pk]
        ),
    }

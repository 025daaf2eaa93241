"""Search messages and summaries by words and by meaning."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from common.caller import Caller, Role
from conversations.models import Message, Session, Summary
from conversations.queries import InSessionQuerySet
from conversations.search_index import search_columns
from conversations.session_search.neighbours import PlacedScore, add_neighbours
from conversations.sessions.session_list import SessionFilters, list_sessions
from inference.embedding.vector import Vector
from projects.models import Project
from search import search as row_search
from search import semantic, snippets
from search.columns import partition_lexeme
from search.search import Hit, LaneRank, Mode, Ranking, RankingRequest

Scope = Literal["both", "messages", "summaries"]
DEFAULT_LIMIT = 20
SNIPPET = 500  # characters (07a, L18)
MAX_AROUND = 5  # neighbours on each side of a hit


@dataclass(frozen=True)
class SearchFilters:
    """Which sessions and times to search; None of `user_id` is all users."""

    session: Session | None = None
    user_id: str | None = None
    agent_id: str = ""
    channel: str = ""
    date_from: datetime | None = None
    date_to: datetime | None = None

    @property
    def names_sessions(self) -> bool:
        named = self.user_id is not None or self.agent_id or self.channel
        return bool(named) and self.session is None

    def sessions(self, project: Project, caller: Caller) -> Any:
        filters = SessionFilters(
            agent_id=self.agent_id,
            user_id=self.user_id,
            channel=self.channel,
            include_archived=True,
        )
        return list_sessions(project, filters, caller).order_by().values("pk")


@dataclass(frozen=True)
class SessionSearch:
    """One search (seed 002, SearchQuery)."""

    query: str
    scope: Scope = "both"
    mode: Mode = "hybrid"
    limit: int = DEFAULT_LIMIT
    around: int = 0
    filters: SearchFilters = field(default_factory=SearchFilters)
    # False for a benchmark that compares.
    with_neighbours: bool = True


@dataclass(frozen=True)
class SessionHit:
    """A message or a summary that was found (seed 002, SearchResult)."""

    source_type: Literal["message", "summary"]
    source_id: str
    session: str
    session_id: uuid.UUID
    seq: int
    content: str
    score: float
    timestamp: datetime
    lanes: Mapping[str, LaneRank]
    around: list[Message] = field(default_factory=list)


@dataclass(frozen=True)
class SessionSearchResult:
    hits: list[SessionHit]
    took_ms: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _RankedRow:
    """A row with its score after the neighbours were added."""

    row: Message | Summary
    score: float
    hit: Hit
    ranking: Ranking


def find(
    project: Project,
    request: SessionSearch,
    caller: Caller,
    vector: Future[Vector] | None = None,
) -> SessionSearchResult:
    """Find the best messages and summaries for a query, among those that the caller may read.

    If the caller called `search.begin_vector`, `vector` is the pending vector of the query.
    """
    caller.require(Role.VIEWER, project.pk)
    started = time.perf_counter()
    vector = vector or row_search.begin_vector(request.query, request.mode)
    found: list[_RankedRow] = []
    notes: dict[str, None] = {}
    if request.scope != "summaries":
        messages = Message.objects.visible_to(caller, project).visible()
        name = search_columns.MESSAGES
        found += _rank(project, request, caller, messages, name, vector, notes)
    if request.scope != "messages":
        summaries = Summary.objects.visible_to(caller, project)
        name = search_columns.SUMMARIES
        found += _rank(project, request, caller, summaries, name, vector, notes)
    best = sorted(found, key=_order)[: request.limit]
    return SessionSearchResult(
        hits=_describe(project, best, request),
        took_ms=round((time.perf_counter() - started) * 1000, 1),
        notes=tuple(notes),
    )


def _order(found: _RankedRow) -> tuple[float, float]:
    """Sort by score, then newest first."""
    return -found.score, -_time_of(found.row).timestamp()


def _time_of(row: Message | Summary) -> datetime:
    return row.created_at if isinstance(row, Message) else row.latest_at


def _seq_of(row: Message | Summary) -> int:
    return row.seq if isinstance(row, Message) else row.first_seq


def _rank(
    project: Project,
    request: SessionSearch,
    caller: Caller,
    rows: InSessionQuerySet,
    corpus: str,
    vector: Future[Vector] | None,
    notes: dict[str, None],
) -> list[_RankedRow]:
    rows = _apply_filters(rows, request.filters, project, caller)
    options = project.options.search
    ranking_request = RankingRequest(
        query=request.query,
        project_id=project.pk,
        corpus=corpus,
        language=options.language,
        mode=request.mode,
        fusion=options.fusion,
        keyword_weight=options.keyword_weight,
        semantic_weight=options.semantic_weight,
        min_hits=semantic.DEPTH,
    )
    pending = row_search.begin(ranking_request, rows.db, vector=vector)
    partitions = [partition_lexeme("p", project.pk)]
    ranking = row_search.rank(rows, ranking_request, partitions, pending)
    notes |= dict.fromkeys(ranking.notes)
    loaded = rows.model.objects.light().in_bulk([hit.id for hit in ranking.hits])
    hits = [hit for hit in ranking.hits if hit.id in loaded]
    scores = [hit.score for hit in hits]
    if request.with_neighbours:
        scores = add_neighbours(
            _place(loaded[hit.id], hit.score, n) for n, hit in enumerate(hits)
        )
    return [
        _RankedRow(loaded[hit.id], score, hit, ranking)
        for hit, score in zip(hits, scores, strict=True)
    ]


def _place(row: Message | Summary, score: float, position: int) -> PlacedScore:
    # A summary has no neighbours: no two positions are one or two places apart.
    seq = row.seq if isinstance(row, Message) else position * 3
    return PlacedScore(row.session_id, seq, score)


def _apply_filters(
    rows: InSessionQuerySet, filters: SearchFilters, project: Project, caller: Caller
) -> InSessionQuerySet:
    if filters.session is not None:
        rows = rows.filter(session=filters.session)
    if filters.names_sessions:
        rows = rows.filter(session__in=filters.sessions(project, caller))
    moment = "created_at" if rows.model is Message else "latest_at"
    if filters.date_from:
        rows = rows.filter(**{f"{moment}__gte": filters.date_from})
    if filters.date_to:
        rows = rows.filter(**{f"{moment}__lte": filters.date_to})
    return rows


def _describe(
    project: Project, found: Sequence[_RankedRow], request: SessionSearch
) -> list[SessionHit]:
    keys = _session_keys(found)
    texts = _snippets(project, found)
    return [
        SessionHit(
            source_type="message" if isinstance(each.row, Message) else "summary",
            source_id=_source_id(each.row),
            session=keys[each.row.session_id],
            session_id=each.row.session_id,
            seq=_seq_of(each.row),
            content=texts[each.row.pk],
            score=round(each.score, 6),
            timestamp=_time_of(each.row),
            lanes=each.hit.lanes,
            around=_neighbours(each.row, request.around),
        )
        for each in found
    ]


def _source_id(row: Message | Summary) -> str:
    return str(row.pk) if isinstance(row, Message) else row.summary_id


def _session_keys(found: Sequence[_RankedRow]) -> dict[uuid.UUID, str]:
    ids = {each.row.session_id for each in found}
    return dict(Session.objects.filter(pk__in=ids).values_list("pk", "key"))


def _snippets(project: Project, found: Sequence[_RankedRow]) -> dict[uuid.UUID, str]:
    """Cut the text of each hit around the words of the query."""
    terms = found[0].ranking.terms if found else []
    texts = {
        each.row.pk: each.row.text
        if isinstance(each.row, Message)
        else each.row.content
        for each in found
    }
    built = snippets.build(texts, terms, project.options.search.language, SNIPPET)
    return {pk: extract.plain for pk, extract in built.items()}


def _neighbours(row: Message | Summary, around: int) -> list[Message]:
    """Return the messages beside a hit, in order, without the hit itself."""
    if not around or isinstance(row, Summary):
        return []
    rows = Message.objects.light().visible().filter(session=row.session_id)
    before = rows.filter(seq__lt=row.seq).order_by("-seq")[:around]
    after = rows.filter(seq__gt=row.seq).order_by("seq")[:around]
    return [*reversed(before), *after]

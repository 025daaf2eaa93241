"""Search messages and summaries by words and by meaning."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

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


class RowPlace(NamedTuple):
    """Where a candidate stands; its text is only read if it is among the best."""

    id: uuid.UUID
    session_id: uuid.UUID
    seq: int
    moment: datetime


@dataclass(frozen=True)
class RankedRow:
    """A row that a lane found, with its score after the neighbours were added."""

    model: type[Message] | type[Summary]
    place: RowPlace
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
    found: list[RankedRow] = []
    notes: dict[str, None] = {}
    if request.scope != "summaries":
        messages = Message.objects.visible_to(caller, project).visible()
        name = search_columns.MESSAGES
        found += rank(project, request, caller, messages, name, vector, notes)
    if request.scope != "messages":
        summaries = Summary.objects.visible_to(caller, project)
        name = search_columns.SUMMARIES
        found += rank(project, request, caller, summaries, name, vector, notes)
    best = sorted(found, key=_order)[: request.limit]
    return SessionSearchResult(
        hits=_describe(project, best, request),
        took_ms=round((time.perf_counter() - started) * 1000, 1),
        notes=tuple(notes),
    )


def _order(found: RankedRow) -> tuple[float, float]:
    """Sort by score, then newest first."""
    return -found.score, -found.place.moment.timestamp()


def rank(
    project: Project,
    request: SessionSearch,
    caller: Caller,
    rows: InSessionQuerySet,
    corpus: str,
    vector: Future[Vector] | None,
    notes: dict[str, None],
) -> list[RankedRow]:
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
    places = _places(rows.model, [hit.id for hit in ranking.hits])
    hits = [hit for hit in ranking.hits if hit.id in places]
    scores = [hit.score for hit in hits]
    if request.with_neighbours:
        scores = add_neighbours(
            PlacedScore(
                places[hit.id].session_id,
                _distant_seq(rows.model, places[hit.id], n),
                hit.score,
            )
            for n, hit in enumerate(hits)
        )
    return [
        RankedRow(rows.model, places[hit.id], score, hit, ranking)
        for hit, score in zip(hits, scores, strict=True)
    ]


def _places(
    model: type[Message] | type[Summary], ids: Sequence[uuid.UUID]
) -> dict[uuid.UUID, RowPlace]:
    names = ("seq", "created_at") if model is Message else ("first_seq", "latest_at")
    rows = model.objects.filter(pk__in=ids).values_list("pk", "session_id", *names)
    return {row[0]: RowPlace(*row) for row in rows}


def _distant_seq(model: Any, place: RowPlace, position: int) -> int:
    """Return the seq of a message.

    A summary has no neighbours: no two positions are one or two places apart.
    """
    return place.seq if model is Message else position * 3


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
    project: Project, found: Sequence[RankedRow], request: SessionSearch
) -> list[SessionHit]:
    keys = _session_keys(found)
    texts, names = _read_texts(found)
    terms = found[0].ranking.terms if found else []
    language = project.options.search.language
    extracts = snippets.build(texts, terms, language, SNIPPET)
    return [
        SessionHit(
            source_type="message" if each.model is Message else "summary",
            source_id=names.get(each.place.id, str(each.place.id)),
            session=keys[each.place.session_id],
            session_id=each.place.session_id,
            seq=each.place.seq,
            content=extracts[each.place.id].plain,
            score=round(each.score, 6),
            timestamp=each.place.moment,
            lanes=each.hit.lanes,
            around=_neighbours(each, request.around),
        )
        for each in found
        # A row that was deleted since it was ranked has no text.
        if each.place.id in texts and each.place.session_id in keys
    ]


def _session_keys(found: Sequence[RankedRow]) -> dict[uuid.UUID, str]:
    ids = {each.place.session_id for each in found}
    return dict(Session.objects.filter(pk__in=ids).values_list("pk", "key"))


def _read_texts(
    found: Sequence[RankedRow],
) -> tuple[dict[uuid.UUID, str], dict[uuid.UUID, str]]:
    """Return the texts of candidates, and the `sum_` ids of the summaries."""
    texts = dict(_columns(found, Message, "text"))
    summaries = list(_columns(found, Summary, "content", "summary_id"))
    texts |= {pk: content for pk, content, _ in summaries}
    return texts, {pk: name for pk, _, name in summaries}


def _columns(found: Sequence[RankedRow], model: Any, *columns: str) -> Iterable[Any]:
    ids = [each.place.id for each in found if each.model is model]
    if not ids:
        return ()
    rows: Iterable[Any] = model.objects.filter(pk__in=ids).values_list("pk", *columns)
    return rows


def _neighbours(found: RankedRow, around: int) -> list[Message]:
    """Return the messages beside a hit, in order, without the hit itself."""
    if not around or found.model is Summary:
        return []
    place = found.place
    rows = Message.objects.light().visible().filter(session=place.session_id)
    before = rows.filter(seq__lt=place.seq).order_by("-seq")[:around]
    after = rows.filter(seq__gt=place.seq).order_by("seq")[:around]
    return [*reversed(before), *after]

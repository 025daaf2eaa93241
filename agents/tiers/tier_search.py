"""Search the facts or the episodes that an invocation may be given."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from ace.episode import read_past_task
from common import errors
from common.caller import Caller, Role
from conversations.invocations.switch import is_memory_on
from conversations.models import Session
from conversations.sessions.lifecycle import resolve_user
from inference.embedding import active_model
from inference.embedding.vector import Vector, normalise
from inference.errors import BadAnswer, InferenceError
from memories.models import Memory
from memories.queries import Filters
from memories.read.recalls import note_recalled
from memories.read.search import Cutoff, MemorySearch, SearchResult, find
from memories.scopes import Scope
from projects.models import Project
from search.parse_query import Syntax
from search.search import EmbeddingsUnavailable, Mode

OFF = "memory is off for this user or conversation: nothing was read"


@dataclass(frozen=True)
class TierQuery:
    """What to look for, and for whom.

    With `embedding`, which the caller computed, nothing is embedded; without `query`, only
    the semantic lane searches. `vector` is the pending vector of the query, from
    `search.begin_vector`.
    """

    query: str = ""
    embedding: Sequence[float] | None = None
    user: str = ""
    top_k: int = 5
    session: Session | None = None
    vector: Future[Vector] | None = None
    mode: Mode = "hybrid"
    syntax: Syntax = "plain"
    cutoff: Cutoff = "none"
    min_score: float | None = None
    filters: Filters = field(default_factory=Filters)


def search_tier(
    project: Project, caller: Caller, asked: TierQuery, *, kind: str
) -> SearchResult:
    """Return the best rows of a tier: the workspace's, the user's and the session's.

    A key that is bound to a user reads the rows of its own user. Where memory is off, there
    are no hits, and a note says so. Refuse another user's name with NotFound, and an
    embedding of another width than the active model's with Invalid.
    """
    caller.require(Role.VIEWER, project.pk)
    user_id = resolve_user(asked.user, caller)
    vector = asked.vector if asked.embedding is None else vector_of(asked.embedding)
    if not (asked.query.strip() or vector):
        raise errors.Invalid(errors={"query": ["Send a query or an embedding."]})
    if not is_memory_on(project, user_id, asked.session):
        return SearchResult([], asked.mode, 0.0, (OFF,))
    scopes = scopes_of(user_id, asked.session)
    asked = replace(asked, vector=vector)
    result = find_in_scopes(project, caller, asked, kind=kind, scopes=scopes)
    note_recalled(hit.memory for hit in result.hits)
    return result


def find_in_scopes(
    project: Project,
    caller: Caller,
    asked: TierQuery,
    *,
    kind: str,
    scopes: tuple[Scope, ...],
) -> SearchResult:
    """Search the workspace and these scopes, and note nothing.

    The caller has checked that memory is on, and has the scopes from `scopes_of`. Of the
    query, `user`, `session` and `embedding` do not count. The records of finished tasks are
    episodes.
    """
    is_of_tasks = kind == Memory.Kind.EPISODE
    request = MemorySearch(
        query=asked.query,
        mode=asked.mode if asked.query.strip() else "semantic",
        syntax=asked.syntax,
        limit=asked.top_k,
        filters=replace(
            asked.filters,
            kinds=() if is_of_tasks else (kind,),
            past_tasks=is_of_tasks,
        ),
        cutoff=asked.cutoff,
        min_score=asked.min_score,
        extra_scopes=scopes,
    )
    result = find(project, request, caller, asked.vector)
    if not is_of_tasks:
        return result
    hits = [replace(hit, memory=read_past_task(hit.memory)) for hit in result.hits]
    return replace(result, hits=hits)


def vector_of(embedding: Sequence[float]) -> Future[Vector]:
    """Return a caller's vector as one of the active model; refuse another width with 400."""
    try:
        model = active_model.get()
        width = model.dimensions
    except InferenceError as error:
        raise EmbeddingsUnavailable from error
    if len(embedding) != width:
        raise errors.Invalid(
            errors={
                "embedding": [
                    f"It has {len(embedding)} numbers; the active model {model.name} makes "
                    f"{width}. Embed with that model, or send a query."
                ]
            }
        )
    try:
        numbers = normalise(list(embedding))
    except BadAnswer:
        message = "It has no direction: it is zero or too large."
        raise errors.Invalid(errors={"embedding": [message]}) from None
    vector = Future[Vector]()
    vector.set_result(Vector(numbers, model=model.name))
    return vector


def scopes_of(user_id: str, session: Session | None) -> tuple[Scope, ...]:
    """Return the scopes beside the workspace.

    A session of the same key without a user keeps its facts for itself: a claim moves them.
    """
    found = [Scope("user", user_id)] if user_id else []
    if session:
        found.append(Scope("session", session.key, user=session.user_id))
    return tuple(found)

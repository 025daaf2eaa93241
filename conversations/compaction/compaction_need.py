"""Whether a session needs a compaction, and the job that carries it out."""

from __future__ import annotations

from typing import NamedTuple

from conversations.compaction import context
from conversations.models import Session
from jobs import queue
from projects.models import Project

KIND = "compact_session"
THRESHOLD = 0.75  # of the budget; a larger context needs a compaction (seed 002)
TARGET = 0.6  # of the budget; the job stops when the context is smaller


class CompactionNeed(NamedTuple):
    """Whether a compaction is needed, and the two numbers that decide."""

    needed: bool
    tokens: int
    budget: int


def budget_of(
    project: Project, session: Session, token_budget: int | None = None
) -> int:
    """Return the budget of the call, else of the session, else of the project."""
    own = project.options.conversations.token_budget
    return token_budget or session.token_budget or own


def describe_need(
    project: Project,
    session: Session,
    *,
    threshold: float = THRESHOLD,
    token_budget: int | None = None,
) -> CompactionNeed:
    """Compare the tokens of the context with a share of the budget.

    No compaction is needed if nothing can be compacted, or if the project has no summarizer.
    """
    budget = budget_of(project, session, token_budget)
    tokens = session.context_tokens
    is_large = tokens > threshold * budget
    needed = is_large and has_summarizer(project) and has_source(session)
    return CompactionNeed(needed, tokens, budget)


def is_compaction_due(project: Project, session: Session) -> bool:
    return describe_need(project, session).needed


def has_summarizer(project: Project) -> bool:
    options = project.options.conversations
    return options.summarizer != "off" and options.store == "full"


def has_source(session: Session) -> bool:
    """Return whether a leaf or a condensed summary can be made now."""
    tail_start = context.find_tail_start(session)
    if context.find_leaf_source(session, tail_start):
        return True
    return bool(context.find_condensed_source(session))


def compact_later(session: Session) -> None:
    """Enqueue the automatic compaction of a session, unless it waits already."""
    args = {"session_id": str(session.pk)}
    key = str(session.pk)
    queue.enqueue(KIND, project_id=session.project_id, args=args, key=key)

"""The sources of an invocation's memory, each of which may fail alone."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import dataclass

from agents.recall import memory_items
from agents.recall.recalled_memory import RecalledItem
from agents.recall.state_focus import describe_state
from agents.tiers.episodes import EPISODE
from agents.tiers.facts import FACT
from agents.tiers.tier_search import TierQuery, find_in_scopes, scopes_of
from common.caller import Caller
from common.text import question_focus
from context import followed_lessons, task_rules
from context.digest import assemble
from conversations.agent_memory import preamble, snapshots
from conversations.invocations import record
from conversations.models import Session
from inference.embedding import active_model
from inference.embedding.vector import Vector
from memories.read.search import MAX_QUERY, MemoryHit
from memories.scopes import Scope
from projects.models import Project
from search import parse_query

# Rules of one invocation; as many as a context of a task has by default.
MAX_RULES = 5
# The newest invocations of a conversation that are read; a share of the budget cuts further.
MAX_INVOCATIONS = 200


@dataclass(frozen=True)
class RecallQuery:
    """Who asks what; the vectors of all three texts are one pending call of the model."""

    project: Project
    caller: Caller
    question: str
    question_and_state: str
    session: Session | None
    # The scopes beside the shared ones: the user's and the conversation's.
    scopes: tuple[Scope, ...]
    of_question: Future[Vector]
    of_both: Future[Vector]
    of_rules: Future[Vector]

    @classmethod
    def begin(
        cls,
        project: Project,
        caller: Caller,
        *,
        question: str,
        state: str,
        user_id: str,
        session: Session | None,
    ) -> RecallQuery:
        """Start to embed what the sources look for; searches read MAX_QUERY characters."""
        asked = question[:MAX_QUERY]
        both = f"{describe_state(state)}\n{question}".strip()[:MAX_QUERY]
        vectors = active_model.begin_queries(
            [
                parse_query.parse(asked, "plain").embedded,
                parse_query.parse(both, "plain").embedded,
                _rule_query(asked),
            ]
        )
        scopes = scopes_of(user_id, session)
        return cls(project, caller, asked, both, session, scopes, *vectors)

    @property
    def agent_id(self) -> str:
        """The agent whose memory is read: the session's, the key's, or the default one."""
        if self.session is not None:
            return self.session.agent_id
        return self.caller.agent_id or record.AGENT


def _rule_query(question: str) -> str:
    """Return the words that `relevance.measure` compares with the rules."""
    focus = question_focus.find_focus(question)
    return focus.words if focus else question


def read_facts(query: RecallQuery) -> list[MemoryHit]:
    top_k = query.project.options.agents.fact_retrieval_top_k
    asked = TierQuery(query.question, top_k=top_k, vector=query.of_question)
    return _read_tier(query, asked, FACT)


def read_episodes(query: RecallQuery) -> list[MemoryHit]:
    top_k = query.project.options.agents.episode_retrieval_top_k
    asked = TierQuery(query.question_and_state, top_k=top_k, vector=query.of_both)
    hits = _read_tier(query, asked, EPISODE)
    return followed_lessons.choose_of_hits(hits, query.caller)


def _read_tier(query: RecallQuery, asked: TierQuery, kind: str) -> list[MemoryHit]:
    found = find_in_scopes(
        query.project, query.caller, asked, kind=kind, scopes=query.scopes
    )
    return found.hits


def read_invocations(query: RecallQuery) -> tuple[RecalledItem, ...]:
    """Return the newest invocations of the conversation, the oldest of them first."""
    if query.session is None:
        return ()
    rows = record.list_invocations(query.session, query.caller)
    newest = list(rows.order_by("-seq")[:MAX_INVOCATIONS])
    return tuple(map(memory_items.item_of_invocation, reversed(newest)))


def read_rules(query: RecallQuery) -> tuple[RecalledItem, ...]:
    """Return the rules above the relevance gate; raises InferenceError without a vector."""
    query.of_rules.result()
    found = task_rules.relevant_rules(
        query.project, query.question, query.caller, limit=MAX_RULES
    )
    return tuple(map(memory_items.item_of_rule, found.rules))


def read_notes(query: RecallQuery, token_budget: int) -> str:
    """Return soul, profile and constraints at the snapshot of the session."""
    if query.session is None:
        return ""
    snapshot = snapshots.get_or_freeze(query.session, query.caller)
    if snapshot.version == 0:
        return ""  # nothing had been written
    found = preamble.build_preamble(
        query.session, token_budget, snapshot.version, token_budget
    )
    return found.text


@dataclass(frozen=True)
class DigestLines:
    """The lines of a digest by the memory that each shows, and the sources that failed."""

    lines: tuple[tuple[uuid.UUID, str], ...] = ()
    notes: tuple[str, ...] = ()

    def without(self, given: Collection[uuid.UUID]) -> list[tuple[uuid.UUID, str]]:
        """Return the lines without the memories that the prompt has as facts or episodes."""
        return [(pk, line) for pk, line in self.lines if pk not in given]


def read_digest(query: RecallQuery) -> DigestLines:
    included, notes = assemble.included_for_agent(
        query.project,
        query.caller,
        agent_id=query.agent_id,
        query=query.question,
        scopes=query.scopes,
    )
    lines = tuple((each.memory.pk, each.text) for each in included)
    return DigestLines(lines, notes)

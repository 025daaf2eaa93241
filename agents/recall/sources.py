"""The sources of an invocation's memory, each of which may fail alone."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cached_property

from agents.recall.state_focus import describe_state
from agents.tiers.episodes import EPISODE
from agents.tiers.facts import FACT
from agents.tiers.tier_search import TierQuery, find_in_scopes, scopes_of
from common.caller import Caller
from common.text import question_focus
from context import followed_lessons, task_records, task_rules
from context.digest import assemble, digest_configs
from context.digest.assemble import PromptDigest
from context.digest.digest_options import DigestOptions
from context.task_records import RankedHits
from context.task_rules import RelevantRules
from conversations.agent_memory import preamble, snapshots
from conversations.agent_memory.pair import MemoryPair
from conversations.invocations import record
from conversations.models import Invocation, Session
from inference.embedding import active_model
from inference.embedding.vector import Vector
from memories.queries import Filters
from memories.read.search import MAX_QUERY, MemoryHit
from memories.scopes import Scope
from playbook.rule_text.applicability import read_surroundings
from projects.models import Project
from search import parse_query

# Relevant rules of one invocation; as many as a context of a task has by default.
MAX_RULES = 5
# Hits beyond those that are given: the first ones may teach nothing.
SPARE_HITS = 8
# The newest invocations of a conversation that are read; a share of the budget cuts further.
MAX_INVOCATIONS = 200


@dataclass(frozen=True)
class RecallQuery:
    """Who asks what; searches read MAX_QUERY characters of it."""

    project: Project
    caller: Caller
    question: str
    state: str
    user_id: str
    session: Session | None

    @cached_property
    def words(self) -> str:
        return self.question[:MAX_QUERY]

    @cached_property
    def situation(self) -> str:
        """What finds past tasks: the state before the question."""
        return f"{describe_state(self.state)}\n{self.question}".strip()[:MAX_QUERY]

    @cached_property
    def vectors(self) -> list[Future[Vector]]:
        """One pending call of the model: words, situation, and what finds rules."""
        texts = (self.words, self.situation)
        embedded = [parse_query.parse(text, "plain").embedded for text in texts]
        focus = question_focus.find_focus(self.words)
        return active_model.begin_queries(
            [*embedded, focus.words if focus else self.words]
        )

    @cached_property
    def agent_id(self) -> str:
        """The agent whose memory is read: the session's, the key's, or the default one."""
        named = self.session.agent_id if self.session else self.caller.agent_id
        return named or record.AGENT

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes beside the shared ones: the user's and the conversation's."""
        return scopes_of(self.user_id, self.session)

    @cached_property
    def digest(self) -> DigestOptions:
        """The settings of the digest; its sensitivities hold for all that is read."""
        return digest_configs.effective_options(
            self.project, self.agent_id, self.caller, is_of_prompt=True
        )


def read_facts(query: RecallQuery) -> list[MemoryHit]:
    top_k = query.project.options.agents.fact_retrieval_top_k
    asked = TierQuery(query.words, top_k=top_k, vector=query.vectors[0])
    return _read_tier(query, asked, FACT)


def read_episodes(query: RecallQuery) -> RankedHits:
    """Return the past tasks to learn from, and at most two others; the rest is counted."""
    top_k = query.project.options.agents.episode_retrieval_top_k
    asked = TierQuery(
        query.situation, top_k=top_k + SPARE_HITS, vector=query.vectors[1]
    )
    found = _read_tier(query, asked, EPISODE)
    hits = followed_lessons.choose_of_hits(found, query.caller)
    about = [hit for hit in hits if hit.is_relevant]
    ranked = task_records.rank_last(query.project, query.words, about).hits
    room = task_records.MAX_ROUTINE - sum(map(_is_routine, ranked))
    others = [hit for hit in hits if not hit.is_relevant]
    routine = list(filter(_is_routine, others))[: max(room, 0)]
    kept = [hit for hit in others if hit in routine or not _is_routine(hit)]
    given = [*ranked, *kept][:top_k]
    return RankedHits(given, sum(hit not in given for hit in about))


def _is_routine(hit: MemoryHit) -> bool:
    return task_records.is_routine(hit.memory)


def _read_tier(query: RecallQuery, asked: TierQuery, kind: str) -> list[MemoryHit]:
    allowed = tuple(query.digest.allow_sensitivities)
    if not allowed:
        return []
    asked = replace(asked, filters=Filters(sensitivities=allowed))
    found = find_in_scopes(
        query.project, query.caller, asked, kind=kind, scopes=query.scopes
    )
    return found.hits


def gather_digest(query: RecallQuery) -> PromptDigest:
    return assemble.gather_for_prompt(
        query.project,
        query.caller,
        query.digest,
        agent_id=query.agent_id,
        query=query.words,
        scopes=query.scopes,
    )


def read_invocations(query: RecallQuery) -> Sequence[Invocation]:
    """Return the newest invocations of the conversation, the oldest of them first."""
    if query.session is None:
        return ()
    rows = record.list_invocations(query.session, query.caller)
    return list(rows.order_by("-seq")[:MAX_INVOCATIONS])[::-1]


def read_rules(query: RecallQuery) -> RelevantRules:
    """Return the rules above the relevance gate, and those that always apply."""
    query.vectors[2].exception()  # the vector is known once all three are
    return task_rules.choose(
        query.project,
        query.words,
        query.caller,
        limit=MAX_RULES,
        tokens=0,
        around=read_surroundings(query.words),
    )


def read_notes(query: RecallQuery, token_budget: int) -> str:
    """Return soul, profile and constraints: at the snapshot of the session, or as they are."""
    session = query.session
    if session is None:
        pair = MemoryPair(query.project, query.user_id, query.agent_id)
        version = pair.find().version
    else:
        pair = MemoryPair.of_session(session)
        version = snapshots.get_or_freeze(session, query.caller).version
    if version == 0:
        return ""  # nothing had been written
    return preamble.build_preamble(pair, token_budget, version, token_budget).text

"""The tools that read and write facts and episodes while a run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from agents.models import AgentRun
from agents.tiers.episodes import EPISODE
from agents.tiers.fact_gate import FactRefusal
from agents.tiers.fact_store import find_owner
from agents.tiers.facts import FACT
from agents.tiers.stated_fact import StatedFact, store_stated_fact
from agents.tiers.tier_search import TierQuery, search_tier
from agents.tools.call_arguments import check_arguments
from agents.tools.observation import build_observation
from agents.tools.tool import ToolArgument, ToolContext, ToolFailure
from common import errors
from common.db import write
from common.text.quote import visible_text
from context import followed_lessons, unsafe_texts
from memories.read import exposures as memory_exposures
from memories.read.search import MemoryHit

NO_FACTS = "No facts found."
NO_EPISODES = "No episodes found."


@dataclass(frozen=True)
class TierTool:
    """A tool of a tier; it never asks first, because a person can take back what it writes."""

    name: str
    description: str
    arguments: tuple[ToolArgument, ...]
    run: Callable[[dict[str, Any], ToolContext], str]
    asks_first: bool = False

    def call(self, arguments: dict[str, Any], context: ToolContext) -> str:
        """Read or write the tier; raise ToolFailure."""
        checked = check_arguments(arguments, self.arguments)
        with refusals_as_failures():
            return build_observation(self.run(checked, context), {}, context.project)


@contextmanager
def refusals_as_failures() -> Iterator[None]:
    """Raise ToolFailure for a refusal, whose words say how to mend the call."""
    try:
        yield
    except errors.Refusal as refusal:
        faults = [
            f"{name}: {' '.join(messages)}" for name, messages in refusal.errors.items()
        ]
        raise ToolFailure("; ".join([refusal.detail, *faults])) from refusal


def _retrieve_facts(arguments: dict[str, Any], context: ToolContext) -> str:
    top_k = context.project.options.agents.fact_retrieval_top_k
    hits = _search(arguments["query"], FACT, top_k, context)
    return _give(hits, "facts", context) or NO_FACTS


def _recall_episodes(arguments: dict[str, Any], context: ToolContext) -> str:
    top_k = context.project.options.agents.episode_retrieval_top_k
    hits = _search(arguments["query"], EPISODE, top_k, context)
    hits = followed_lessons.choose_of_hits(hits, context.caller)
    return _give(hits, "episodes", context) or NO_EPISODES


def _search(query: str, kind: str, top_k: int, context: ToolContext) -> list[MemoryHit]:
    asked = TierQuery(query, user=context.user_id, top_k=top_k, session=context.session)
    return search_tier(context.project, context.caller, asked, kind=kind).hits


@write
def _give(hits: Sequence[MemoryHit], tier: str, context: ToolContext) -> str:
    """Return the safe texts with their dates, best first; note what the run was given."""
    unsafe = unsafe_texts.find_memories(context.caller, (hit.memory for hit in hits))
    hits = [hit for hit in hits if hit.memory.pk not in unsafe]
    if hits:
        memory_exposures.record(
            context.project,
            [hit.memory.pk for hit in hits],
            context.caller,
            agent_id=context.session.agent_id
            if context.session
            else context.caller.agent_id,
        )
        rows = AgentRun.objects.select_for_update(no_key=True)
        run = rows.get(pk=context.run_id)
        run.add_given(tier, (str(hit.memory.pk) for hit in hits))
    texts = [
        f"[{hit.memory.created_at:%Y-%m-%d}] {visible_text(hit.memory.content)}"
        for hit in hits
    ]
    return "\n\n".join([*texts, *unsafe_texts.note_on(len(unsafe))])


def _store_fact(arguments: dict[str, Any], context: ToolContext) -> str:
    """Store a fact that passes the gate of every fact that an agent learns."""
    owner = find_owner(context.user_id, context.session)
    if owner.scope is None:
        raise ToolFailure(
            "The fact is not stored, because it would belong to nobody: the request names "
            "neither a user nor a conversation."
        )
    run = AgentRun.objects.select_related("project").get(pk=context.run_id)
    fact = StatedFact(arguments["fact_content"], arguments.get("quote", ""))
    stored = store_stated_fact(run, fact, owner, context.caller, context.session)
    if isinstance(stored, FactRefusal):
        raise ToolFailure(f"The fact is not stored. {stored.message}")
    if stored.archived_at:
        return (
            f"Fact {stored.pk} waits for a person, because nothing that was said in this run "
            "proves it. With a quote that does, it is stored at once."
        )
    return f"Stored as fact {stored.pk}."


RETRIEVE_FACTS = TierTool(
    name="RetrieveFacts",
    description="Retrieve facts that were stored earlier, from long-term memory.",
    arguments=(ToolArgument("query", description="What to look for."),),
    run=_retrieve_facts,
)
RECALL_EPISODES = TierTool(
    name="RecallEpisodes",
    description="Search for similar tasks of the past: goal, steps, outcome and lessons.",
    arguments=(ToolArgument("query", description="The task or the problem at hand."),),
    run=_recall_episodes,
)
STORE_FACT = TierTool(
    name="StoreFact",
    description="Store one fact for later conversations, that the question or a tool's answer "
    "says. Say what is, without personal data, secrets or instructions.",
    arguments=(
        ToolArgument("fact_content", description="One sentence that stands alone."),
        ToolArgument(
            "quote",
            description="The words of the question or of a tool's answer that say it, "
            "verbatim. Without them the fact may have to wait for a person.",
            required=False,
        ),
    ),
    run=_store_fact,
)
TIER_TOOLS = (RETRIEVE_FACTS, RECALL_EPISODES, STORE_FACT)

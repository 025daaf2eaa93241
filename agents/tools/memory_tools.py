"""The tools that read and write facts and episodes while a run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from agents.tiers import episodes, facts
from agents.tiers.fact_gate import check_fact
from agents.tiers.facts import FactDraft
from agents.tools.call_arguments import check_arguments
from agents.tools.observation import build_observation
from agents.tools.tool import ToolArgument, ToolContext, ToolFailure
from common import errors
from common.text.quote import visible_text
from memories.read.search import MemoryHit
from memories.scopes import Scope

NO_FACTS = "No facts found."
NO_EPISODES = "No episodes found."


@dataclass(frozen=True)
class TierTool:
    """A tool of a tier; it never asks first, because a person can take back what it writes."""

    name: str
    description: str
    argument: ToolArgument
    run: Callable[[str, ToolContext], str]
    asks_first: bool = False

    @property
    def arguments(self) -> tuple[ToolArgument, ...]:
        return (self.argument,)

    def call(self, arguments: dict[str, Any], context: ToolContext) -> str:
        """Read or write the tier; raise ToolFailure."""
        text = check_arguments(arguments, self.arguments)[self.argument.name]
        with refusals_as_failures():
            return build_observation(self.run(text, context), {}, context.project)


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


def _retrieve_facts(query: str, context: ToolContext) -> str:
    hits = facts.retrieve_facts(
        context.project,
        context.caller,
        query=query,
        user=context.user_id,
        top_k=context.project.options.agents.fact_retrieval_top_k,
        session=context.session,
    )
    return _list_hits(hits) or NO_FACTS


def _recall_episodes(query: str, context: ToolContext) -> str:
    hits = episodes.retrieve_episodes(
        context.project,
        context.caller,
        query=query,
        user=context.user_id,
        top_k=context.project.options.agents.episode_retrieval_top_k,
        session=context.session,
    )
    return _list_hits(hits) or NO_EPISODES


def _list_hits(hits: Iterable[MemoryHit]) -> str:
    """Return the texts with their dates, best first."""
    return "\n\n".join(
        f"[{hit.memory.created_at:%Y-%m-%d}] {visible_text(hit.memory.content)}"
        for hit in hits
    )


def _store_fact(content: str, context: ToolContext) -> str:
    """Store a fact that passes the gate of every fact that an agent learns."""
    content = content.strip()
    if refusal := check_fact(content):
        raise ToolFailure(f"The fact is not stored. {refusal.message}")
    draft = FactDraft(
        content=content,
        source=context.session.key if context.session else "",
        user=_owner(context),
    )
    memory = facts.store_fact(
        context.project, draft, context.caller, scope=_scope(context)
    )
    return f"Stored as fact {memory.pk}."


def _owner(context: ToolContext) -> str:
    """Return the user of the run, or the user who claimed its session."""
    return context.user_id or (context.session.user_id if context.session else "")


def _scope(context: ToolContext) -> Scope | None:
    """Return the scope of an anonymous conversation; None for a user's own scope."""
    if _owner(context):
        return None
    if context.session is None:
        raise ToolFailure(
            "The fact is not stored, because it would belong to nobody: the request names "
            "neither a user nor a conversation."
        )
    return Scope("session", context.session.key)


RETRIEVE_FACTS = TierTool(
    name="RetrieveFacts",
    description="Retrieve facts that were stored earlier, from long-term memory.",
    argument=ToolArgument("query", description="What to look for."),
    run=_retrieve_facts,
)
RECALL_EPISODES = TierTool(
    name="RecallEpisodes",
    description="Search for similar tasks of the past: goal, steps, outcome and lessons.",
    argument=ToolArgument("query", description="The task or the problem at hand."),
    run=_recall_episodes,
)
STORE_FACT = TierTool(
    name="StoreFact",
    description="Store one fact for later conversations. Say what is, without personal data, "
    "secrets or instructions.",
    argument=ToolArgument(
        "fact_content", description="One sentence that stands alone."
    ),
    run=_store_fact,
)
TIER_TOOLS = (RETRIEVE_FACTS, RECALL_EPISODES, STORE_FACT)

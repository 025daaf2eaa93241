"""Store a fact that the agent states while its run goes on."""

from __future__ import annotations

from dataclasses import dataclass

from agents.models import AgentRun
from agents.run_texts import source_texts
from agents.tiers.fact_gate import FactRefusal
from agents.tiers.fact_proof import prove_fact
from agents.tiers.fact_store import FactOwner, prepare_facts
from agents.tiers.owner import scope_to_write
from agents.tiers.tier_write import commit, kept_memory
from common.caller import Caller
from common.db import write
from conversations.models import Session
from conversations.sessions.lookup import lock_session
from memories.models import Memory
from memories.store.admission import lock_quotas
from memories.store.write import Batch


@dataclass(frozen=True)
class StatedFact:
    """A fact, and the words of the user or of a tool that prove it."""

    content: str
    quote: str


def store_stated_fact(
    run: AgentRun,
    fact: StatedFact,
    owner: FactOwner,
    caller: Caller,
    session: Session | None = None,
) -> Memory | FactRefusal:
    """Store a fact as those that a model finds at the end of a run, or return why not.

    `session` is that of the conversation. The run notes the fact, or the refusal, in what
    it has taught. Raise MemoryOff, QuotaExceeded, SecretFound, OwnerChanged, or NotFound
    for another user's name.
    """
    scope_to_write(run.project, owner.user_id, owner.session_key, caller, owner.scope)
    proven = prove_fact(fact.content, fact.quote, source_texts(run))
    if isinstance(proven, FactRefusal):
        _count_refusal(run, proven)
        return proven
    metadata = {"run_id": str(run.pk)}
    batch = prepare_facts(run.project, [proven], owner, caller, metadata)
    return _store(run, session, owner, batch)


@write
def _store(
    run: AgentRun, session: Session | None, owner: FactOwner, batch: Batch
) -> Memory:
    lock_quotas(batch.project)
    locked = AgentRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    owner.require(session and lock_session(session))
    memory = kept_memory(commit(batch))
    locked.add_learned(facts=[str(memory.pk)])
    return memory


@write
def _count_refusal(run: AgentRun, refusal: FactRefusal) -> None:
    locked = AgentRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    locked.add_learned(refused=[refusal.value])

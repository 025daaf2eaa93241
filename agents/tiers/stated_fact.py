"""Store a fact that the agent states while its run goes on."""

from __future__ import annotations

from dataclasses import dataclass

from agents.models import AgentRun
from agents.run_texts import source_texts
from agents.tiers.fact_gate import FactRefusal
from agents.tiers.fact_proof import AGENT, CONFIDENCE, check_unproven, prove_fact
from agents.tiers.fact_store import FactOwner, prepare_facts
from agents.tiers.owner import scope_to_write
from agents.tiers.tier_write import commit, kept_memory
from common.caller import Caller
from common.db import write
from conversations.models import Session
from conversations.sessions.lookup import lock_session
from memories.models import Memory
from memories.store import originals
from memories.store.admission import lock_quotas
from memories.store.write import Batch


@dataclass(frozen=True)
class StatedFact:
    """A fact, and the words of the user or of a tool that prove it.

    Without a quote, the fact may be these words itself; else it waits for a person.
    """

    content: str
    quote: str = ""


WAITS = "waits for a person: nothing that was said in its run proves it"


def store_stated_fact(
    run: AgentRun,
    fact: StatedFact,
    owner: FactOwner,
    caller: Caller,
    session: Session | None = None,
) -> Memory | FactRefusal:
    """Store a fact as those that a model finds at the end of a run, or return why not.

    A fact without a quote that no text proves is stored archived: no read finds it until a
    person restores it.

    `session` is that of the conversation. The run notes the fact, or the refusal, in what
    it has taught. Raise MemoryOff, QuotaExceeded, SecretFound, OwnerChanged, or NotFound
    for another user's name.
    """
    scope_to_write(run.project, owner.user_id, owner.session_key, caller, owner.scope)
    proven = prove_fact(fact.content, fact.quote or fact.content, source_texts(run))
    waits = not fact.quote and proven in (FactRefusal.NO_QUOTE, FactRefusal.UNGROUNDED)
    if waits:
        proven = check_unproven(fact.content)
    if isinstance(proven, FactRefusal):
        _count_refusal(run, proven)
        return proven
    metadata = {"run_id": str(run.pk)}
    batch = prepare_facts(run.project, [proven], owner, caller, metadata)
    return _store(run, session, owner, batch, waits=waits)


@write
def _store(
    run: AgentRun,
    session: Session | None,
    owner: FactOwner,
    batch: Batch,
    *,
    waits: bool,
) -> Memory:
    lock_quotas(batch.project)
    locked = AgentRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    owner.require(session and lock_session(session))
    memory = (_find_waiting(batch) if waits else None) or _commit(batch, waits=waits)
    locked.add_learned(facts=[str(memory.pk)])
    return memory


def _find_waiting(batch: Batch) -> Memory | None:
    """Return the fact if it waits already: a person has to decide about it once."""
    (item,) = batch.items
    if item.row is None:
        return None
    same: Memory | None = Memory.objects.filter(
        project=batch.project,
        scope_hash=item.row.scope_hash,
        similarity_hash=item.row.similarity_hash,
        confidence=CONFIDENCE[AGENT],
        archived_at__isnull=False,
        deleted_at=None,
    ).first()
    return same


def _commit(batch: Batch, *, waits: bool) -> Memory:
    receipt = commit(batch)
    memory = kept_memory(receipt)
    if waits and receipt.duplicate_of is None:
        originals.archive(memory, batch.caller, reason=WAITS)
    return memory


@write
def _count_refusal(run: AgentRun, refusal: FactRefusal) -> None:
    locked = AgentRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    locked.add_learned(refused=[refusal.value])

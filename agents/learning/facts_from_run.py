"""Store the facts that the words of a run prove, once for each run and quote."""

from __future__ import annotations

from typing import Any

from agents.learning import fact_candidates
from agents.learning.fact_candidates import FoundFacts
from agents.models import AgentRun
from agents.run_texts import has_changed, source_texts
from agents.tiers.fact_store import (
    FactOwner,
    commit_facts,
    find_owner,
    prepare_facts,
)
from common.caller import Caller
from common.db import write
from conversations.invocations.switch import require_memory
from conversations.models import Session
from conversations.sessions.lookup import lock_session
from memories.store.admission import lock_quotas
from memories.store.write import Batch
from projects import model_access

# The key of `AgentRun.learned` that says that facts were looked for.
DONE = "has_scanned"


def is_enabled(run: AgentRun) -> bool:
    """Whether facts are looked for: the project wants it and may call the model."""
    options = run.project.options.agents
    return options.enable_auto_fact_extraction and model_access.is_enabled(run.project)


def learn_facts(run: AgentRun, session: Session | None, caller: Caller) -> None:
    """Look for facts in a run and store them, unless that has been done.

    All facts and the record of them are one transaction. Raises InferenceError, MemoryOff
    if somebody has turned memory off meanwhile, and OwnerChanged.
    """
    if DONE in run.learned:
        return
    found = fact_candidates.find_facts(run.project, source_texts(run))
    metadata = {"run_id": str(run.pk)}
    # The conversation may have been claimed while the model was asked.
    owner = find_owner(run.user_id, session)
    batch = prepare_facts(run.project, found.facts, owner, caller, metadata)
    run.learned = _store(run, session, owner, batch, found)


@write
def _store(
    run: AgentRun,
    session: Session | None,
    owner: FactOwner,
    batch: Batch,
    found: FoundFacts,
) -> dict[str, Any]:
    lock_quotas(batch.project)
    # Another worker may have learned from the run meanwhile; the lock excludes it.
    locked = AgentRun.objects.select_for_update(no_key=True).get(pk=run.pk)
    owner.require(session and lock_session(session))
    require_memory(run.project, run.user_id, session)
    # Texts that a purge has erased while the model was asked prove nothing any more.
    if DONE not in locked.learned and not has_changed(run, locked):
        ids, refused = commit_facts(batch)
        locked.learned[DONE] = True
        locked.add_learned(facts=ids, refused=(found.refused + refused).elements())
    learned: dict[str, Any] = locked.learned
    return learned

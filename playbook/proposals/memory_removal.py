"""Propose to delete a memory that another key stored; a curator decides in the inbox."""

from __future__ import annotations

from common.caller import Caller
from memories.models import Memory
from playbook.entries.text_limits import MAX_REASON
from playbook.models import PlaybookDelta
from playbook.proposals import submission
from playbook.proposals.proposed_change import (
    Operation,
    Producer,
    Proposal,
    entries_key,
)


def propose_removal(memory: Memory, caller: Caller, *, reason: str) -> PlaybookDelta:
    """Return the delta that waits, or the one of before about this version of the memory.

    What a curator rejected therefore does not come again until the memory changes.
    """
    known = entries_key(Producer.MODEL, Operation.FORGET, [(memory.pk, memory.version)])
    proposal = Proposal(
        Operation.FORGET,
        reason=reason[:MAX_REASON],
        memory_id=memory.pk,
        producer=Producer.MODEL,
        producer_name=caller.name,
        agent_id=caller.agent_id_for(""),
        idempotency_key=known,
    )
    return submission.propose(memory.project, [proposal], caller)[0]

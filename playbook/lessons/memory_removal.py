"""Propose to delete a memory that another key stored; a curator decides in the inbox."""

from __future__ import annotations

from common.caller import Caller
from memories.models import Memory
from playbook.entries.text_limits import MAX_REASON
from playbook.lessons import draft as drafts
from playbook.lessons import intake
from playbook.lessons.draft import Operation, Producer
from playbook.models import PlaybookDelta
from playbook.queries import WAITING_STATUSES


def propose_removal(memory: Memory, caller: Caller, *, reason: str) -> PlaybookDelta:
    """Return a waiting proposal, or an earlier one for the same text of the memory.

    A rejected proposal therefore comes back only after the text changes. The key has the hash
    of the text, because deleting and restoring a memory raises its version.
    """
    text = f"{memory.pk} {memory.similarity_hash}"
    known = drafts.key(Producer.MODEL, Operation.FORGET, text)
    forget = drafts.change(
        Operation.FORGET,
        reason=reason[:MAX_REASON],
        memory_id=memory.pk,
        producer=Producer.AGENT,
        producer_name=caller.name[:100],
        agent_id=caller.agent_id_for(""),
        idempotency_key=known,
    )
    return intake.submit(memory.project, [forget], caller)[0]


def is_kept(delta: PlaybookDelta) -> bool:
    """Whether a person decided that the memory stays.

    The proposal was rejected, or somebody restored the memory that it had deleted.
    """
    return delta.status not in WAITING_STATUSES

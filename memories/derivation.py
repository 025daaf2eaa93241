"""A memory that is made of others: prepared outside the transaction, then written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from common.caller import Caller
from common.db import write
from inference.embedding.vector import Vector
from memories import admission, drafts, lifecycle, vectors, writing
from memories.drafts import Draft
from memories.models import Memory
from memories.receipts import Receipt
from projects.models import Project


@dataclass(frozen=True)
class Derivation:
    """A checked draft of `sources`. `retire` is why they go, empty where they stay.

    `reason` is for the history of the new memory.
    """

    project: Project
    sources: Sequence[Memory]
    draft: Draft
    vector: Vector | None
    retire: str = ""
    reason: str = ""


def prepare(
    project: Project,
    sources: Sequence[Memory],
    draft: Draft,
    *,
    retire: str = "",
    reason: str = "",
) -> Derivation:
    """Check, mask and embed: all that is slow, before any transaction."""
    drafts.refuse_short(project, draft)
    draft = drafts.guard_secrets(project.options.secrets, draft)
    vector = _vector(sources, draft)
    return Derivation(project, sources, draft, vector, retire, reason)


def _vector(sources: Sequence[Memory], draft: Draft) -> Vector | None:
    same = next((m for m in sources if m.text == draft.embedded_text), None)
    if same and (known := same.embedding):
        return known
    made, _ = vectors.embed_or_none([draft.embedded_text])
    return made[0] if made else None


@write
def commit(made: Derivation, caller: Caller) -> Receipt:
    """Write the memory and retire its sources with it, or do nothing.

    What was read is what is there still: a source that has changed meanwhile is a
    StaleVersion, one that has gone a NotFound. One that adds to its sources needs room
    in the quotas.
    """
    if not made.retire:
        for refusal in admission.refused(made.project, {0: made.draft}).values():
            raise refusal
    held = [
        lifecycle.hold_undeleted(memory, memory.version)
        for memory in sorted(made.sources, key=lambda m: m.pk)
    ]
    receipt = writing.derive(
        made.project, made.draft, held, made.vector, caller, reason=made.reason
    )
    assert receipt.memory
    if made.retire:
        for memory in held:
            # Anew: the new memory may have superseded it.
            retired = lifecycle.hold(memory)
            lifecycle.leave(
                retired,
                caller,
                f"{made.retire} {receipt.memory.pk}",
                elect=False,
                retired_into=receipt.memory,
            )
    return receipt

"""A memory that is made of others: prepared outside the transaction, then written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from common.caller import Caller
from common.db import write
from inference.embedding.vector import Vector
from memories.lifecycle import delete, lookup
from memories.models import Memory
from memories.store import (
    admission,
    draft_checks,
    drafts,
    files,
    secret_policy,
    tags,
    vectors,
)
from memories.store.drafts import Draft
from memories.store.insert import insert_memory
from memories.store.receipt import Receipt
from projects import search_language
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
    draft_checks.refuse_short(project, draft)
    draft = secret_policy.guard_draft(project.options.secrets, draft)
    vector = _find_vector(sources, draft)
    return Derivation(project, sources, draft, vector, retire, reason)


def _find_vector(sources: Sequence[Memory], draft: Draft) -> Vector | None:
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
        for refusal in admission.over_quota(made.project, {0: made.draft}).values():
            raise refusal
    held = [
        lookup.lock_undeleted(memory, memory.version)
        for memory in sorted(made.sources, key=lambda m: m.pk)
    ]
    receipt = _insert_derived(
        made.project, made.draft, held, made.vector, caller, reason=made.reason
    )
    assert receipt.memory
    if made.retire:
        for memory in held:
            # Anew: the new memory may have superseded it.
            retired = lookup.lock_memory(memory)
            delete.soft_delete(
                retired,
                caller,
                f"{made.retire} {receipt.memory.pk}",
                elect=False,
                retired_into=receipt.memory,
            )
    return receipt


@write
def _insert_derived(
    project: Project,
    draft: Draft,
    sources: Sequence[Memory],
    vector: Vector | None,
    caller: Caller,
    *,
    reason: str = "",
) -> Receipt:
    """Store what was made of other memories: with their files, never a duplicate."""
    tags.ensure(project, draft.tags)
    language = search_language.pin_language(project.pk)
    memory = drafts.build(project, draft, language)
    receipt = insert_memory(memory, draft, vector, caller, reason=reason)
    assert receipt.memory
    for source in sources:
        files.copy_links(source, receipt.memory)
    if vector is None:
        vectors.embed_later(project.pk)
    return receipt

"""Derive a memory from other memories.

The new memory is first prepared, then written in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from django.db import transaction

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

T = TypeVar("T")


@dataclass(frozen=True)
class Derivation:
    """A checked draft that is derived from `sources`.

    If `retire` is set, the sources are deleted, and `retire` is the reason of the deletion.
    `reason` is written to the history of the new memory.
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
    """Check, mask and embed a draft.

    This is the slow part of a derivation; it runs outside the transaction.
    """
    draft_checks.refuse_short(project, draft)
    spelled = tags.spell(project, draft.tags)
    draft = replace(
        draft, tags=tuple(dict.fromkeys(spelled[tag] for tag in draft.tags))
    )
    draft = secret_policy.guard_draft(project.options.secrets, draft)
    vector = _find_vector(sources, draft)
    return Derivation(project, sources, draft, vector, retire, reason)


def _find_vector(sources: Sequence[Memory], draft: Draft) -> Vector | None:
    same = next((m for m in sources if m.text == draft.embedded_text), None)
    if same and (known := same.embedding) and same.vectors.count() == 1:
        return known
    return vectors.embed_short([draft.embedded_text])[0].vector


@write
def commit(derivation: Derivation, caller: Caller) -> Receipt:
    """Write the derived memory, and delete its sources if `retire` is set.

    Raises StaleVersion if a source was changed after it had been read, and NotFound if a
    source was deleted. If the sources stay, the quotas must have room for the new memory.
    """
    if not derivation.retire:
        for refusal in admission.over_quota(
            derivation.project, {0: derivation.draft}
        ).values():
            raise refusal
    locked = [
        lookup.lock_undeleted(memory, memory.version)
        for memory in sorted(derivation.sources, key=lambda m: m.pk)
    ]
    receipt = _insert_derived(
        derivation.project,
        derivation.draft,
        locked,
        derivation.vector,
        caller,
        reason=derivation.reason,
    )
    assert receipt.memory
    if derivation.retire:
        for memory in locked:
            # Reload the source, because the new memory may have superseded it.
            retired = lookup.lock_memory(memory)
            delete.soft_delete(
                retired,
                caller,
                f"{derivation.retire} {receipt.memory.pk}",
                has_successor=False,
                retired_into=receipt.memory,
            )
    return receipt


def rehearse(
    derivation: Derivation, caller: Caller, describe: Callable[[Receipt], T]
) -> T:
    """Commit a derivation, describe its receipt, and take everything back.

    All refusals are those of `commit`.
    """
    with transaction.atomic():
        described = describe(commit(derivation, caller))
        transaction.set_rollback(True)
    return described


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
    """Insert a derived memory with the file links of its sources."""
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

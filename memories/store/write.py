"""Store memories: one function for every door, with a receipt for each."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from django.utils import timezone

from common import errors
from common.caller import Caller, Role
from common.db import execute_many, insert_new, write
from common.ids import uuid7
from inference.embedding.vector import Vector
from memories import near_duplicates
from memories.models import Memory
from memories.queries import IS_KNOWN
from memories.store import (
    admission,
    draft_checks,
    drafts,
    files,
    history,
    originals,
    search_columns,
    tags,
    vectors,
)
from memories.store.drafts import Draft
from memories.store.insert import action_of, insert_memory
from memories.store.quotas import QuotaExceeded
from memories.store.receipt import Receipt
from projects import search_language
from projects.models import Project
from search import near as search_near
from search.near import Neighbours


@dataclass(frozen=True)
class PreparedBatch:
    """Drafts that passed the project's rules, their rows and vectors: {position: …}."""

    project: Project
    caller: Caller
    drafts: dict[int, Draft]
    rows: dict[int, Memory]
    refused: dict[int, errors.Refusal] = field(default_factory=dict)
    vectors: dict[int, Vector] = field(default_factory=dict)
    note: str = ""


def store(project: Project, draft: Draft, caller: Caller) -> Receipt:
    """Store one memory; raises the refusal instead of returning it."""
    receipt = commit(prepare(project, [draft], caller))[0]
    if receipt.refusal:
        raise receipt.refusal
    return receipt


def prepare(project: Project, items: Sequence[Draft], caller: Caller) -> PreparedBatch:
    """Check, mask and embed drafts: all that is slow, before any transaction.

    A refused draft keeps its place and its reason; the others go on. What is known
    as an exact duplicate is not embedded, and neither is a large batch: a job will.
    """
    caller.require(Role.WRITER, project.pk)
    accepted: dict[int, Draft] = {}
    refused: dict[int, errors.Refusal] = {}
    for position, item in enumerate(items):
        try:
            accepted[position] = draft_checks.check_draft(project, item, caller)
        except errors.Refusal as refusal:
            refused[position] = refusal
    rows = _build_rows(project, accepted)
    if len(items) > vectors.MAX_INLINE:
        note = "not embedded yet: a job embeds large batches"
        return PreparedBatch(project, caller, accepted, rows, refused, note=note)
    fresh = [p for p, draft in accepted.items() if not _is_known(project, draft)]
    # By this thread: to hand them to another one takes half a millisecond.
    made, note = vectors.embed_or_none([accepted[p].embedded_text for p in fresh])
    found = dict(zip(fresh, made, strict=True)) if made else {}
    return PreparedBatch(project, caller, accepted, rows, refused, found, note)


def _build_rows(project: Project, accepted: Mapping[int, Draft]) -> dict[int, Memory]:
    """Unsaved rows, in the order in which they are locked."""
    language = project.options.search.language
    in_order = sorted(accepted, key=lambda p: (*accepted[p].place, p))
    return {p: drafts.build(project, accepted[p], language) for p in in_order}


@write
def commit(prepared: PreparedBatch) -> list[Receipt]:
    """Write prepared drafts in one transaction; a receipt for each, in their order.

    The project where it has quotas, files, then tags, its language, then memories by
    their place: writers of the same texts lock in the same order and cannot deadlock.
    """
    project = prepared.project
    over = admission.over_quota(project, prepared.drafts)
    accepted = {
        position: draft
        for position, draft in prepared.drafts.items()
        if position not in over or draft.is_kept_over_quota
    }
    refused = {p: over[p] for p in over if p not in accepted}
    known = files.ensure(
        project, (ref.path for draft in accepted.values() for ref in draft.files)
    )
    tags.ensure(project, (tag for draft in accepted.values() for tag in draft.tags))
    # Behind the waits for other writers, so that what these wrote is compared.
    language, close = _lock_and_probe(prepared)
    receipts = {
        position: _rejection(refusal)
        for position, refusal in (*prepared.refused.items(), *refused.items())
    }
    ids = {position: uuid7() for position in sorted(accepted)}
    built = {
        position: _copy_with_new_id(row, ids[position], language)
        for position, row in prepared.rows.items()
        if position in accepted
    }
    stored = _insert_together(prepared, built)
    beside: list[tuple[Memory, Vector]] = []
    for position, memory in built.items():
        draft = accepted[position]
        vector = prepared.vectors.get(position)
        verdict = near_duplicates.NO_VERDICT
        if vector and position in close:
            verdict = near_duplicates.compare_new(
                memory, vector, close[position], beside
            )
        receipt = stored.get(position) or insert_memory(
            memory, draft, vector, prepared.caller, verdict
        )
        assert receipt.memory
        if vector:
            beside.append((memory, vector))
        files.link(receipt.memory, draft.files, known)
        if receipt.duplicate_of:
            files.copy_links(receipt.memory, receipt.duplicate_of)
        if not receipt.semantic and not receipt.duplicate_of and prepared.note:
            receipt = replace(receipt, notes=(*receipt.notes, prepared.note))
        if position in over:
            receipt = _archive_over_quota(receipt, over[position], prepared.caller)
        receipts[position] = receipt
    _refresh_facts([memory for memory in built.values() if memory.is_keyed_fact])
    if any(
        r.memory and not r.semantic and not r.duplicate_of for r in receipts.values()
    ):
        vectors.embed_later(project.pk)
    return [receipts[position] for position in sorted(receipts)]


def _lock_and_probe(prepared: PreparedBatch) -> tuple[str, dict[int, Neighbours]]:
    """The project's language, held, and what is close to each vector: in one message."""
    project, vectors = prepared.project, prepared.vectors
    rows = prepared.rows if project.options.dedup.enabled else {}
    compared = [
        p for p in rows if p in vectors and near_duplicates.is_comparable(rows[p])
    ]
    looks = (
        [near_duplicates.probe(project, [vectors[p] for p in compared])]
        if compared
        else []
    )
    *near, _, language = execute_many(
        *looks, *search_language.pin_statements(project.pk)
    )
    close = search_near.read_neighbours(near[0], len(compared)) if near else []
    return search_language.read_pinned(language), dict(
        zip(compared, close, strict=True)
    )


def _copy_with_new_id(row: Memory, memory_id: uuid.UUID, language: str) -> Memory:
    """A copy to store, with an id of now; a transaction that is repeated makes another."""
    memory = copy(row)
    memory.pk = memory_id
    if memory.content_tsv.language != language:
        search_columns.fill(memory, language)
    return memory


def _refresh_facts(facts: Sequence[Memory]) -> None:
    """Read again what a later fact of the same batch did to an earlier one."""
    if len(facts) < 2:
        return
    names = ("superseded_by_id", "is_duplicate", "duplicate_of_id", "version")
    rows = Memory.objects.filter(pk__in=[memory.pk for memory in facts])
    now = {pk: values for pk, *values in rows.values_list("pk", *names)}
    for memory in facts:
        for name, value in zip(names, now[memory.pk], strict=True):
            setattr(memory, name, value)


def _insert_together(
    prepared: PreparedBatch, built: Mapping[int, Memory]
) -> dict[int, Receipt]:
    """Insert the rows of a large batch that nothing has to be compared with: {place: …}.

    Left out are facts with a key, and what is a duplicate: these go one by one.
    """
    if prepared.vectors or len(built) <= vectors.MAX_INLINE:
        return {}
    plain = {
        place: memory for place, memory in built.items() if not memory.is_keyed_fact
    }
    inserted = insert_new(list(plain.values()))
    rows = {place: memory for place, memory in plain.items() if memory.pk in inserted}
    history.record_new(
        prepared.caller,
        [(action_of(prepared.drafts[place]), memory) for place, memory in rows.items()],
    )
    return {
        place: Receipt("stored", memory, notes=prepared.drafts[place].notes)
        for place, memory in rows.items()
    }


def _archive_over_quota(
    receipt: Receipt, full: QuotaExceeded, caller: Caller
) -> Receipt:
    """Archive at once what no quota has room for, and which may not be lost."""
    if receipt.memory is None or receipt.duplicate_of:
        return receipt
    note = f"archived at once: the quota {full.extra['quota']} is full"
    originals.archive(receipt.memory, caller, reason=note)
    return replace(receipt, notes=(*receipt.notes, note))


def _is_known(project: Project, draft: Draft) -> bool:
    assert draft.scope
    place = [draft.scope.hash, draft.sensitivity, draft.key, draft.similarity_hash]
    ((known,),) = execute_many((IS_KNOWN, [project.pk, *place, timezone.now()]))
    return bool(known[0])


def _rejection(refusal: errors.Refusal) -> Receipt:
    return Receipt(status="rejected", refusal=refusal)

"""Write memories.

Drafts are first prepared and then committed in one transaction.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field

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
from search.near import Neighbours, read_neighbours


@dataclass(frozen=True)
class PreparedBatch:
    """The result of `prepare`.

    It has the accepted drafts with their rows and vectors, and the refusals. The dicts map
    a position in the batch to a value.
    """

    project: Project
    caller: Caller
    drafts: dict[int, Draft]
    rows: dict[int, Memory]
    refusals: dict[int, errors.Refusal] = field(default_factory=dict)
    vectors: dict[int, Vector] = field(default_factory=dict)
    # What a receipt says of a draft that is stored without a vector.
    notes: dict[int, str] = field(default_factory=dict)


def store(project: Project, draft: Draft, caller: Caller) -> Receipt:
    """Store one memory.

    A refusal is raised, not returned.
    """
    receipt = commit(prepare(project, [draft], caller))[0]
    if receipt.refusal:
        raise receipt.refusal
    return receipt


def prepare(project: Project, items: Sequence[Draft], caller: Caller) -> PreparedBatch:
    """Check, mask and embed drafts.

    This is the slow part of a write, and it runs outside the transaction of the write. A
    refused draft does not stop the others. Exact duplicates are not embedded. A large batch
    is embedded by a job.
    """
    caller.require(Role.WRITER, project.pk)
    accepted: dict[int, Draft] = {}
    refusals: dict[int, errors.Refusal] = {}
    for position, item in enumerate(items):
        try:
            accepted[position] = draft_checks.check_draft(project, item, caller)
        except errors.Refusal as refusal:
            refusals[position] = refusal
    rows = _build_rows(project, accepted)
    if len(items) > vectors.MAX_INLINE:
        notes = dict.fromkeys(accepted, vectors.LARGE_BATCH)
        return PreparedBatch(project, caller, accepted, rows, refusals, notes=notes)
    fresh = [p for p, draft in accepted.items() if not _is_known(project, draft)]
    # The texts are embedded in this thread, because handing them to another thread takes
    # half a millisecond.
    embedded = vectors.embed_short([accepted[p].embedded_text for p in fresh])
    by_position = dict(zip(fresh, embedded, strict=True))
    return PreparedBatch(
        project,
        caller,
        accepted,
        rows,
        refusals,
        vectors={p: one.vector for p, one in by_position.items() if one.vector},
        notes={p: one.note for p, one in by_position.items() if one.note},
    )


def _build_rows(project: Project, accepted: Mapping[int, Draft]) -> dict[int, Memory]:
    """Build unsaved rows, in the order in which all writers lock."""
    language = project.options.search.language
    in_order = sorted(accepted, key=lambda p: (*accepted[p].lock_key, p))
    return {p: drafts.build(project, accepted[p], language) for p in in_order}


@write
def commit(prepared: PreparedBatch) -> list[Receipt]:
    """Write prepared drafts in one transaction; return a receipt for each, in order.

    Every writer locks in the same order, so that two writers cannot deadlock. The order is:
    the project if it has quotas, files, tags, the search language, then memories by
    `Draft.lock_key`.
    """
    project = prepared.project
    over = admission.over_quota(project, prepared.drafts)
    accepted = {
        position: draft
        for position, draft in prepared.drafts.items()
        if position not in over or draft.is_kept_over_quota
    }
    refusals = prepared.refusals | {p: over[p] for p in over if p not in accepted}
    file_rows = files.ensure(
        project, (ref.path for draft in accepted.values() for ref in draft.files)
    )
    tags.ensure(project, (tag for draft in accepted.values() for tag in draft.tags))
    # This call comes after the locks, so that memories of earlier writers are compared too.
    language, neighbours = _lock_and_probe(prepared)
    receipts = {
        position: Receipt(status="rejected", refusal=refusal)
        for position, refusal in refusals.items()
    }
    ids = {position: uuid7() for position in sorted(accepted)}
    built = {
        position: _copy_with_new_id(row, ids[position], language)
        for position, row in prepared.rows.items()
        if position in accepted
    }
    stored = _insert_together(prepared, built)
    inserted: list[tuple[Memory, Vector]] = []
    for position, memory in built.items():
        draft = accepted[position]
        vector = prepared.vectors.get(position)
        verdict = near_duplicates.NO_VERDICT
        if vector and position in neighbours:
            verdict = near_duplicates.compare_new(
                memory, vector, neighbours[position], inserted
            )
        receipt = stored.get(position) or insert_memory(
            memory, draft, vector, prepared.caller, verdict
        )
        assert receipt.memory
        if vector:
            inserted.append((memory, vector))
        files.link(receipt.memory, draft.files, file_rows, prepared.caller)
        if receipt.duplicate_of:
            files.copy_links(receipt.memory, receipt.duplicate_of)
        if not receipt.semantic and not receipt.duplicate_of:
            receipt = receipt.with_notes(
                prepared.notes.get(position, ""),
                vectors.describe_cut(draft.embedded_text),
            )
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
    """Lock the search language and find the neighbours of each vector in one round trip."""
    project, vectors = prepared.project, prepared.vectors
    rows = prepared.rows if project.options.dedup.enabled else {}
    compared = [
        p for p in rows if p in vectors and near_duplicates.is_comparable(rows[p])
    ]
    probes = []
    if compared:
        probes = [near_duplicates.probe(project, [vectors[p] for p in compared])]
    pin = search_language.pin_statements(project.pk)
    *near, _, language = execute_many(*probes, *pin)
    neighbours = []
    if near:
        model = vectors[compared[0]].model
        neighbours = read_neighbours(near[0], len(compared), model)
    by_position = dict(zip(compared, neighbours, strict=True))
    return search_language.read_pinned(language), by_position


def _copy_with_new_id(row: Memory, memory_id: uuid.UUID, language: str) -> Memory:
    """Copy a prepared row and give the copy a new id.

    A repeated transaction must not reuse the row.
    """
    memory = copy(row)
    memory.pk = memory_id
    if memory.content_tsv.language != language:
        search_columns.fill(memory, language)
    return memory


def _refresh_facts(facts: Sequence[Memory]) -> None:
    """Reload the columns that a later fact of the batch may have changed in these facts."""
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
    """Insert the rows of a large batch with one statement; return {position: receipt}.

    Facts with a key and exact duplicates are left out, because they are inserted one by
    one.
    """
    if prepared.vectors or len(built) <= vectors.MAX_INLINE:
        return {}
    plain = {
        position: memory
        for position, memory in built.items()
        if not memory.is_keyed_fact
    }
    inserted = insert_new(list(plain.values()))
    rows = {
        position: memory for position, memory in plain.items() if memory.pk in inserted
    }
    history.record_new(
        prepared.caller,
        [
            (action_of(prepared.drafts[position]), memory)
            for position, memory in rows.items()
        ],
    )
    return {
        position: Receipt("stored", memory, notes=prepared.drafts[position].notes)
        for position, memory in rows.items()
    }


def _archive_over_quota(
    receipt: Receipt, full: QuotaExceeded, caller: Caller
) -> Receipt:
    """Archive a memory that exceeds a quota but must not be refused."""
    if receipt.memory is None or receipt.duplicate_of:
        return receipt
    note = f"archived at once: the quota {full.extra['quota']} is full"
    originals.archive(receipt.memory, caller, reason=note)
    return receipt.with_notes(note)


def _is_known(project: Project, draft: Draft) -> bool:
    """Whether a current memory has the same text, scope, sensitivity and key."""
    assert draft.scope
    columns = [draft.scope.hash, draft.sensitivity, draft.key, draft.similarity_hash]
    ((row,),) = execute_many((IS_KNOWN, [project.pk, *columns, timezone.now()]))
    return bool(row[0])

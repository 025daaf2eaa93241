"""Write memories.

Drafts are first prepared and then committed in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from django.utils import timezone

from common import errors
from common.caller import Caller, Role
from common.db import execute_many, insert_new, write
from common.ids import uuid7
from inference.embedding.vector import Vector
from memories import near_duplicates
from memories.models import File, Memory
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


@dataclass
class Item:
    """A draft on its way into the store: what the steps of a write find out about it."""

    draft: Draft
    refusal: errors.Refusal | None = None
    # The unsaved row; each run of `commit` copies it.
    row: Memory | None = None
    vector: Vector | None = None
    # What the receipt says if the memory is stored without a vector.
    note: str = ""
    full_quota: QuotaExceeded | None = None
    neighbours: Neighbours | None = None
    receipt: Receipt | None = None

    @property
    def memory(self) -> Memory:
        """The row of an item that is not refused."""
        assert self.row
        return self.row


@dataclass(frozen=True)
class Batch:
    """The items of one write, in the order of the caller."""

    project: Project
    caller: Caller
    items: list[Item]
    # The files that the items name, by path.
    files: dict[str, File] = field(default_factory=dict)

    @property
    def in_lock_order(self) -> list[Item]:
        """The items that are not refused, in the order in which all writers lock."""
        accepted = [item for item in self.items if not item.refusal]
        return sorted(accepted, key=lambda item: item.draft.lock_key)


def store(project: Project, draft: Draft, caller: Caller) -> Receipt:
    """Store one memory.

    A refusal is raised, not returned.
    """
    receipt = commit(prepare(project, [draft], caller))[0]
    if receipt.refusal:
        raise receipt.refusal
    return receipt


def prepare(project: Project, sent: Sequence[Draft], caller: Caller) -> Batch:
    """Check, mask and embed drafts.

    This is the slow part of a write, and it runs outside the transaction of the write. A
    refused draft does not stop the others. Exact duplicates are not embedded. A large batch
    is embedded by a job.
    """
    caller.require(Role.WRITER, project.pk)
    batch = Batch(project, caller, list(map(Item, sent)))
    language = project.options.search.language
    spelled = tags.spell(project, (tag for draft in sent for tag in draft.tags))
    for item in batch.items:
        names = tuple(spelled[tag] for tag in item.draft.tags)
        try:
            draft = replace(item.draft, tags=names)
            item.draft = draft_checks.check_draft(project, draft, caller)
        except errors.Refusal as refusal:
            item.refusal = refusal
        else:
            item.row = drafts.build(project, item.draft, language)
    if len(batch.items) > vectors.MAX_INLINE:
        for item in batch.in_lock_order:
            item.note = vectors.LARGE_BATCH
    else:
        _embed(batch)
    return batch


def _embed(batch: Batch) -> None:
    fresh = [
        item for item in batch.in_lock_order if not _is_known(batch.project, item.draft)
    ]
    # The texts are embedded in this thread, because handing them to another thread takes
    # half a millisecond.
    embedded = vectors.embed_short([item.draft.embedded_text for item in fresh])
    for item, inline in zip(fresh, embedded, strict=True):
        item.vector, item.note = inline


@write
def commit(prepared: Batch) -> list[Receipt]:
    """Write prepared drafts in one transaction; return a receipt for each, in order.

    Every writer locks in the same order, so that two writers cannot deadlock. The order is:
    the project if it has quotas, files, tags, the search language, then memories by
    `Draft.lock_key`.
    """
    items = [replace(item) for item in prepared.items]
    batch = Batch(prepared.project, prepared.caller, items)
    for step in STEPS:
        step(batch)
    return [_receipt_of(item) for item in batch.items]


def _receipt_of(item: Item) -> Receipt:
    if item.refusal:
        return Receipt(status="rejected", refusal=item.refusal)
    assert item.receipt
    return item.receipt


def _admit(batch: Batch) -> None:
    """Refuse what exceeds a quota, or mark it to be archived."""
    asked = {n: each.draft for n, each in enumerate(batch.items) if not each.refusal}
    for place, full in admission.over_quota(batch.project, asked).items():
        item = batch.items[place]
        if item.draft.is_kept_over_quota:
            item.full_quota = full
        else:
            item.refusal = full


def _lock_files(batch: Batch) -> None:
    paths = (ref.path for item in batch.in_lock_order for ref in item.draft.files)
    batch.files.update(files.ensure(batch.project, paths))


def _lock_tags(batch: Batch) -> None:
    every = (tag for item in batch.in_lock_order for tag in item.draft.tags)
    tags.ensure(batch.project, every)


def _lock_and_probe(batch: Batch) -> None:
    """Lock the search language and find the neighbours of each vector in one round trip.

    This step comes after the locks, so that memories of earlier writers are compared too.
    """
    project, compared = batch.project, []
    if project.options.dedup.enabled:
        compared = [
            item
            for item in batch.in_lock_order
            if item.vector and near_duplicates.is_comparable(item.memory)
        ]
    asked = [item.vector for item in compared if item.vector]
    probes = [near_duplicates.probe(project, asked)] if asked else []
    pin = search_language.pin_statements(project.pk)
    *near, _, pinned = execute_many(*probes, *pin)
    if near:
        found = read_neighbours(near[0], len(asked), asked[0].model)
        for item, neighbours in zip(compared, found, strict=True):
            item.neighbours = neighbours
    language = search_language.read_pinned(pinned)
    for item in batch.items:
        if item.row and not item.refusal:
            item.row = _copy_with_new_id(item.row, language)


def _copy_with_new_id(row: Memory, language: str) -> Memory:
    """Copy a prepared row and give the copy a new id.

    A repeated transaction must not reuse the row.
    """
    memory = copy(row)
    memory.pk = uuid7()
    if memory.content_tsv.language != language:
        search_columns.fill(memory, language)
    return memory


def _insert_together(batch: Batch) -> None:
    """Insert the rows of a large batch with one statement.

    Facts with a key and exact duplicates are left out, because they are inserted one by
    one.
    """
    items = [item for item in batch.in_lock_order if not item.memory.is_keyed_fact]
    if len(batch.in_lock_order) <= vectors.MAX_INLINE or any(i.vector for i in items):
        return
    new_ids = insert_new([item.memory for item in items])
    inserted = [item for item in items if item.memory.pk in new_ids]
    history.record_new(
        batch.caller, [(action_of(item.draft), item.memory) for item in inserted]
    )
    for item in inserted:
        item.receipt = Receipt("stored", item.memory, notes=item.draft.notes)


def _insert_each(batch: Batch) -> None:
    """Insert what is not inserted yet, link its files, and complete its receipt."""
    inserted: list[tuple[Memory, Vector]] = []
    for item in batch.in_lock_order:
        receipt = item.receipt or _insert(item, batch.caller, inserted)
        assert receipt.memory
        if item.vector:
            inserted.append((item.memory, item.vector))
        files.link(receipt.memory, item.draft.files, batch.files, batch.caller)
        if receipt.duplicate_of:
            files.copy_links(receipt.memory, receipt.duplicate_of)
        elif not receipt.semantic:
            cut = vectors.describe_cut(item.draft.embedded_text)
            receipt = receipt.with_notes(item.note, cut)
        if item.full_quota:
            receipt = _archive_over_quota(receipt, item.full_quota, batch.caller)
        item.receipt = receipt


def _insert(
    item: Item, caller: Caller, inserted: Sequence[tuple[Memory, Vector]]
) -> Receipt:
    verdict = near_duplicates.NO_VERDICT
    if item.vector and item.neighbours:
        verdict = near_duplicates.compare_new(
            item.memory, item.vector, item.neighbours, inserted
        )
    return insert_memory(item.memory, item.draft, item.vector, caller, verdict)


def _refresh_facts(batch: Batch) -> None:
    """Reload the columns that a later fact of the batch may have changed in these facts."""
    facts = [each.memory for each in batch.in_lock_order if each.memory.is_keyed_fact]
    if len(facts) < 2:
        return
    names = ("superseded_by_id", "is_duplicate", "duplicate_of_id", "version")
    rows = Memory.objects.filter(pk__in=[memory.pk for memory in facts])
    now = {pk: values for pk, *values in rows.values_list("pk", *names)}
    for memory in facts:
        for name, value in zip(names, now[memory.pk], strict=True):
            setattr(memory, name, value)


def _embed_later(batch: Batch) -> None:
    receipts = [item.receipt for item in batch.in_lock_order if item.receipt]
    if any(not (each.semantic or each.duplicate_of) for each in receipts):
        vectors.embed_later(batch.project.pk)


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


STEPS = (
    _admit,
    _lock_files,
    _lock_tags,
    _lock_and_probe,
    _insert_together,
    _insert_each,
    _refresh_facts,
    _embed_later,
)

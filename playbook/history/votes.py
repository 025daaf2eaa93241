"""Votes on entries, and supports: the links from memories to the entries they support.

A run has one vote on each entry. Votes and changes of supports are changes of their
own. They are allowed under every policy, even for locked and human-written entries
(docs/ace.md, "Votes and supports").
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from common.caller import Caller, Role
from common.db import write
from memories.models import Memory
from playbook.history import undo_changes
from playbook.history.revision import Cause, Revision, lock_playbook
from playbook.models import PlaybookChange, PlaybookEntry, Support
from projects.models import Project

VoteKind = Literal["helpful", "harmful", "neutral"]

# An entry is deprecated after MIN_USES uses if its harmful votes lead by HARMFUL_LEAD.
HARMFUL_LEAD = 3
MIN_USES = 5


@dataclass(frozen=True)
class Vote:
    entry_id: uuid.UUID
    kind: VoteKind
    reason: str = ""


@write
def record(
    project: Project,
    votes: Sequence[Vote],
    supported_entries: Iterable[uuid.UUID],
    cause: Cause,
    caller: Caller,
    *,
    is_believed: bool = True,
) -> list[PlaybookChange]:
    """Count votes, and let the memory of the cause support entries, in one revision.

    Entries of other projects are skipped. Votes and supports that already exist are
    skipped. The votes of a caller who is not believed count nothing.
    """
    caller.require(Role.WRITER, project.pk)
    votes = votes if is_believed else ()
    supported_entries = list(dict.fromkeys(supported_entries))
    entry_ids = list(
        dict.fromkeys([*(vote.entry_id for vote in votes), *supported_entries])
    )
    if not entry_ids:
        return []
    revision = Revision(lock_playbook(project), caller, cause)
    entries = PlaybookEntry.objects.filter(project=project).light().in_bulk(entry_ids)
    voted_entries = _entries_with_vote(cause.run_id, entries) if votes else set()
    for vote in votes:
        if vote.entry_id in entries and vote.entry_id not in voted_entries:
            entry = entries[vote.entry_id]
            revision.count(entry, {vote.kind: 1}, reason=vote.reason)
            voted_entries.add(entry.pk)
    memories = Memory.objects.filter(project=project)
    memory = memories.filter(pk=cause.memory_id).first() if cause.memory_id else None
    if memory:
        for entry_id in _entries_to_support(memory, supported_entries):
            if entry := entries.get(entry_id):
                revision.support(entry, add=[memory.pk])
    return revision.close()


def _entries_to_support(
    memory: Memory, entry_ids: Sequence[uuid.UUID]
) -> list[uuid.UUID]:
    have = memory.supports.filter(entry_id__in=entry_ids)
    known = set(have.values_list("entry_id", flat=True))
    return [entry_id for entry_id in entry_ids if entry_id not in known]


@write
def withdraw_supports(
    project: Project, memory_ids: Sequence[uuid.UUID], cause: Cause, caller: Caller
) -> list[PlaybookChange]:
    """End all supports by these memories, in one revision.

    Call this function before memories are purged, because a support ends only by a
    change.
    """
    caller.require(Role.CURATOR, project.pk)
    if not memory_ids:
        return []
    playbook = lock_playbook(project)
    rows = Support.objects.filter(entry__project=project, memory__in=memory_ids)
    by_entry: dict[uuid.UUID, list[uuid.UUID]] = {}
    for entry_id, memory_id in rows.values_list("entry_id", "memory_id"):
        by_entry.setdefault(entry_id, []).append(memory_id)
    revision = Revision(playbook, caller, cause)
    for entry in PlaybookEntry.objects.light().filter(pk__in=by_entry).order_by("pk"):
        revision.support(entry, remove=by_entry[entry.pk])
    return revision.close()


def count(
    revision: Revision, entry: PlaybookEntry, kind: str, run_id: uuid.UUID | None
) -> None:
    """Count a vote within a revision, unless this run already voted on the entry."""
    if entry.pk not in _entries_with_vote(run_id, [entry.pk]):
        revision.count(entry, {kind: 1})


def _entries_with_vote(
    run_id: uuid.UUID | None, entry_ids: Iterable[uuid.UUID]
) -> set[uuid.UUID]:
    """Return the entries on which a vote of the run is in force.

    Without a run, return no entries.
    """
    if run_id is None:
        return set()
    # A revert has the same run as the change that it reverts.
    rows = PlaybookChange.objects.filter(run_id=run_id, entry_id__in=list(entry_ids))
    in_order = list(rows.in_order().only("action", "entry_id", "reverts_id"))
    in_force = undo_changes.find_in_force(in_order)
    return {
        row.entry_id for row in in_order if row.action == "vote" and row.pk in in_force
    }


def is_refuted(entry: PlaybookEntry) -> bool:
    """Whether the votes refute an entry that may be retired automatically."""
    return (
        entry.is_live
        and not entry.is_protected
        and entry.uses >= MIN_USES
        and entry.harmful - entry.helpful >= HARMFUL_LEAD
    )
